package main

import (
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
)

// script answers the scenarios as a model might: once for a city by another name, once in two steps where one would do, and
// once with a call that it may not make any more.
func script(today time.Time) []scripted.Step {
	tomorrow := today.AddDate(0, 0, 1).Format(time.DateOnly)
	call := func(name, arguments string) agentloop.ToolCall {
		return agentloop.ToolCall{Name: name, Arguments: arguments}
	}
	usage := &agentloop.Usage{InputTokens: 100, OutputTokens: 10}
	calls := func(calls ...agentloop.ToolCall) scripted.Step { return scripted.Step{ToolCalls: calls, Usage: usage} }
	says := func(text string, calls ...agentloop.ToolCall) scripted.Step {
		return scripted.Step{Text: text, ToolCalls: calls, Usage: usage}
	}
	return []scripted.Step{
		says("Hello to you!"),
		says("One bag and a charger."),
		calls(call("get_weather", `{"city":"Lisboa"}`)), calls(call("get_weather", `{"city":"Lisbon"}`)), says("Sunny, 24 °C."),
		calls(call("convert_money", `{"amount":120,"from":"EUR","to":"USD"}`)), says("132 dollars."),
		calls(call("find_trains", `{"from":"Lisbon","to":"Porto"}`)), says("Two:\n\n- Heron 12\n- Heron 16"),
		calls(call("get_weather", `{"city":"Porto","day":"`+tomorrow+`"}`), call("convert_money", `{"amount":80,"from":"USD","to":"GBP"}`)),
		says("Light rain, and 62.55 pounds."),
		calls(call("find_trains", `{"from":"Porto","to":"Lisbon"}`), call("get_weather", `{"city":"Lisbon","day":"`+tomorrow+`"}`)),
		calls(call("convert_money", `{"amount":5000,"from":"JPY","to":"EUR"}`)), says("Heron 11 or 17; some wind; 30.86 euros."),
		calls(call("find_trains", `{"from":"Lisbon","to":"Porto"}`)),
		says("24.50 euros; I could not convert them.", call("convert_money", `{"amount":24.5,"from":"EUR","to":"USD"}`)),
		calls(call("find_rooms", `{"city":"Porto"}`)), says("The booking desk is not available."),
	}
}
