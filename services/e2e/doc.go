// Package e2e tests Quartet from the outside: conversations through the gateway with all six services behind it, in one
// process and in six. It has no code of its own; nothing imports it.
package e2e
