module github.com/quartet-commerce/quartet/examples

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/quartet-commerce/quartet/pkg/agentloop v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/google/jsonschema-go v0.4.2 // indirect
	github.com/sashabaranov/go-openai v1.42.0 // indirect
)

replace github.com/quartet-commerce/quartet/pkg/agentloop => ../pkg/agentloop
