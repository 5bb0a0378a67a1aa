package main

import (
	"context"
	"fmt"

	"github.com/quartet-commerce/quartet/services/gateway"
)

const webhookSecretAbout = `Prints the secrets with which a store verifies the webhooks of its handoffs, in the form of standardwebhooks.com: one for each line of
the file that the gateway has. Each store has its own; give it to nobody else.`

func runWebhookSecret(_ context.Context, args []string, env environment) error {
	fs := newFlags("webhook-secret", "STORE", webhookSecretAbout, env)
	file := fs.String("webhook-secrets", "", "`file` with a secret a line, which the gateway also has (required)")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usagef("give one store; got %q", rest)
	case *file == "":
		return usagef("--webhook-secrets is required")
	}
	secrets, err := readSecrets(*file)
	if err != nil {
		return err
	}
	for _, secret := range secrets {
		own, err := gateway.WebhookSecret(secret, rest[0])
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(env.out, own); err != nil {
			return err
		}
	}
	return nil
}
