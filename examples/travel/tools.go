package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// travelTools returns the four tools. A tool is a function from a struct to a string or to anything that marshals to JSON. The
// schema of its arguments comes from the struct. The model reads its errors. The data of these tools is made up.
//
// Data that the model must not choose, here the day, comes through a closure.
func travelTools(today time.Time) []agentloop.Tool {
	return []agentloop.Tool{
		agentloop.NewTool("get_weather", "The weather in a city on a day.",
			func(_ context.Context, in weatherArgs) (weather, error) { return forecast(in, today) }),
		agentloop.NewTool("convert_money", "Converts an amount of money to another currency.", convert),
		agentloop.NewTool("find_trains", "Finds trains from one city to another, with their times and prices.", findTrains),
		agentloop.NewTool("find_rooms", "Finds hotel rooms in a city.", findRooms),
	}
}

type weatherArgs struct {
	City string `json:"city" jsonschema:"name of the city"`
	Day  string `json:"day,omitempty" jsonschema:"YYYY-MM-DD; leave out for today"`
}

type weather struct {
	City string `json:"city"`
	Day  string `json:"day"`
	Sky  string `json:"sky"`
	High string `json:"high"`
}

// forecasts are for today, tomorrow and the day after.
var forecasts = map[string][3]weather{
	"lisbon": {{Sky: "sunny", High: "24 °C"}, {Sky: "sunny with some wind", High: "23 °C"}, {Sky: "cloudy", High: "21 °C"}},
	"porto":  {{Sky: "cloudy", High: "18 °C"}, {Sky: "light rain", High: "17 °C"}, {Sky: "sunny", High: "20 °C"}},
}

func forecast(in weatherArgs, today time.Time) (weather, error) {
	days, ok := forecasts[strings.ToLower(in.City)]
	if !ok {
		return weather{}, fmt.Errorf("no forecast for %q, only for Lisbon and Porto", in.City)
	}
	for i, w := range days {
		w.City, w.Day = in.City, today.AddDate(0, 0, i).Format(time.DateOnly)
		if in.Day == w.Day || in.Day == "" {
			return w, nil
		}
	}
	return weather{}, fmt.Errorf("no forecast for %s, only for three days from %s", in.Day, today.Format(time.DateOnly))
}

type moneyArgs struct {
	Amount float64 `json:"amount"`
	From   string  `json:"from" jsonschema:"ISO 4217 code, such as EUR"`
	To     string  `json:"to" jsonschema:"ISO 4217 code, such as EUR"`
}

// rates are the values of one euro.
var rates = map[string]float64{"EUR": 1, "USD": 1.10, "GBP": 0.86, "JPY": 162}

func convert(_ context.Context, in moneyArgs) (string, error) {
	from, to := rates[in.From], rates[in.To]
	if from == 0 || to == 0 {
		return "", errors.New("known currencies: EUR, USD, GBP, JPY")
	}
	return fmt.Sprintf("%.2f %s = %.2f %s", in.Amount, in.From, in.Amount/from*to, in.To), nil
}

type trainArgs struct {
	From string `json:"from" jsonschema:"city"`
	To   string `json:"to" jsonschema:"city"`
}

type timetable struct {
	Trains []train `json:"trains"`
}

type train struct {
	Name    string `json:"name"`
	Price   string `json:"price"`
	Departs string `json:"departs"`
	Arrives string `json:"arrives"`
}

func findTrains(_ context.Context, in trainArgs) (timetable, error) {
	switch strings.ToLower(in.From + " " + in.To) {
	case "lisbon porto":
		return timetable{[]train{{"Heron 12", "31.90 EUR", "08:09", "11:04"}, {"Heron 16", "24.50 EUR", "13:39", "17:12"}}}, nil
	case "porto lisbon":
		return timetable{[]train{{"Heron 11", "31.90 EUR", "07:47", "10:40"}, {"Heron 17", "24.50 EUR", "15:30", "19:01"}}}, nil
	}
	return timetable{}, fmt.Errorf("no trains from %q to %q, only between Lisbon and Porto", in.From, in.To)
}

type roomArgs struct {
	City string `json:"city"`
}

// findRooms fails, as tools sometimes do.
func findRooms(context.Context, roomArgs) (string, error) {
	return "", errors.New("the booking desk is not available at the moment")
}
