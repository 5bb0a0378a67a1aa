package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/auth/jwt"
	"github.com/quartet-commerce/quartet/services/internal/auth/tokens"
	"github.com/quartet-commerce/quartet/services/suite"
	flag "github.com/spf13/pflag"
)

// defaultCallerRate is how many calls a second a caller may make for a store unless a flag or its token says otherwise.
const defaultCallerRate = 200

// callerFlags say how callers prove who they are, and how often they may call.
type callerFlags struct {
	tokens     string
	jwt        jwt.Config
	rate       float64
	reflection func(open bool) bool
}

func addCallerFlags(fs *flag.FlagSet) *callerFlags {
	f := &callerFlags{rate: defaultCallerRate, reflection: reflectionFlag(fs)}
	fs.StringVar(&f.tokens, "tokens", "", "JSON `file` of callers with the hashes of their tokens and their rights, which 'quartet token' writes (docs/security.md)")
	fs.StringVar(&f.jwt.Keys, "jwks", "", "`file or URL` of the public keys of the issuer whose JSON Web Tokens are accepted; a URL must be of https; needs --jwt-issuer and --jwt-audience")
	fs.StringVar(&f.jwt.Issuer, "jwt-issuer", "", "claim \"iss\" of the JSON Web Tokens that are accepted")
	fs.StringVar(&f.jwt.Audience, "jwt-audience", "", "claim \"aud\" of the JSON Web Tokens that are accepted")
	fs.Func("caller-rate", defaulted("largest `number` of calls a second that each caller may make for each store, in this process; 0 for no limit", defaultCallerRate),
		atLeast(&f.rate, 0, parseRate))
	return f
}

func parseRate(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return 0, errors.New("must be a number")
	}
	return v, err
}

// asked reports whether callers are asked for credentials.
func (f *callerFlags) asked() bool { return f.tokens != "" || f.jwt.Keys != "" }

// describe says who may call, for the banner.
func (f *callerFlags) describe(tls bool) string {
	switch {
	case f.asked():
		return "callers need tokens"
	case tls:
		return "no callers (--tokens, --jwks)"
	}
	return "any caller may do everything (--tokens, --jwks)"
}

// apply sets what the flags say, and more authenticators that are asked first. The TLS of cfg must be set before. Insecure says
// whether other machines may connect without TLS. The returned function releases what the authenticators hold.
func (f *callerFlags) apply(cfg *suite.Config, insecure bool, logger *slog.Logger, more ...auth.Authenticator) (closeCallers func() error, err error) {
	nothing := func() error { return nil }
	if f.jwt.Keys == "" && (f.jwt.Issuer != "" || f.jwt.Audience != "") {
		return nothing, usagef("--jwt-issuer and --jwt-audience need --jwks")
	}
	if f.jwt.Keys != "" && (f.jwt.Issuer == "" || f.jwt.Audience == "") {
		return nothing, usagef("--jwks needs --jwt-issuer and --jwt-audience")
	}
	cfg.CallerRate = f.rate
	tls := len(cfg.TLS) > 0
	cfg.Reflection = f.reflection(!f.asked() && !tls && !insecure)
	accepted := auth.AnyOf(more)
	if f.tokens != "" {
		file, err := tokens.Open(f.tokens, logger)
		if err != nil {
			return nothing, err
		}
		accepted = append(accepted, file)
	}
	if f.jwt.Keys != "" {
		f.jwt.Logger = logger
		verifier, err := jwt.Open(f.jwt)
		if err != nil {
			return nothing, err
		}
		accepted, nothing = append(accepted, verifier), func() error { verifier.Close(); return nil }
	}
	if f.asked() || tls && len(accepted) > 0 {
		cfg.Authenticator = accepted
	}
	return nothing, nil
}

// tokenFlag adds --token, with which a command proves to a server who it is.
func tokenFlag(fs *flag.FlagSet, token *string) {
	fs.Func("token", "`token` that proves to the server who calls; better given as QUARTET_TOKEN, because other users of this machine can see command lines",
		func(s string) error { *token = strings.TrimSpace(s); return nil }) // a file of a Secret may end in a line break
}

// oneToken accepts one token.
type oneToken struct {
	hash   string
	caller auth.Caller
}

// Authenticate implements auth.Authenticator.
func (o oneToken) Authenticate(_ context.Context, token string) (auth.Caller, error) {
	if tokens.Hash(token) != o.hash {
		return auth.Caller{}, auth.InvalidToken(errors.New("not the token of this process"))
	}
	return o.caller, nil
}

// ownToken makes a token with which this process may do everything in its own services, and what accepts it.
func ownToken() (string, auth.Authenticator) {
	token := tokens.New()
	return token, oneToken{tokens.Hash(token), auth.Caller{
		Name: "quartet-up", Grants: []auth.Grant{{Store: auth.AnyStore, Rights: auth.Rights()}}, Rate: -1,
	}}
}

const tokenAbout = `Makes a random token for a caller, and prints the token and the caller's entry for the file that --tokens of
'quartet serve' names. Only the entry is kept: it has a hash of the token. With --file, the entry is added to that file; to
give a caller of the file one more token, name it without stores and rights.`

func runToken(_ context.Context, args []string, env environment) error {
	fs := newFlags("token", "", tokenAbout, env)
	var c tokens.Caller
	var stores []string
	var rights []auth.Right
	var expires time.Duration
	var rate float64
	fs.StringVar(&c.Name, "name", "", "`name` of the caller, as logs have it")
	fs.Func("store", "`id` of a store in which the rights hold, or \"*\" for every store; may be repeated", func(s string) error {
		stores = append(stores, s)
		return nil
	})
	fs.Func("right", "`right` of the caller; may be repeated: "+strings.Join(rightNames(), ", "), func(s string) error {
		rights = append(rights, auth.Right(s))
		return nil
	})
	customer := fs.String("customer", "", "`id` of the only customer for whom the caller may act (default: any)")
	fs.DurationVar(&expires, "expires", 0, "`duration` after which the caller's tokens stop working (default: never)")
	fs.Func("rate", "largest `number` of calls a second for each store; -1 for no limit (default: the server's --caller-rate)",
		atLeast(&rate, -1, parseRate))
	path := fs.String("file", "", "`file` to add the caller to; it is made if it is not there")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("unexpected argument %q", rest[0])
	case c.Name == "":
		return usagef("give --name")
	case (len(stores) == 0) != (len(rights) == 0), len(stores) == 0 && *path == "":
		return usagef("give --store and --right")
	}
	token := tokens.New()
	c.SHA256 = []string{tokens.Hash(token)}
	for _, store := range stores {
		c.Grants = append(c.Grants, tokens.Grant{Store: store, Rights: rights})
	}
	if *customer != "" {
		c.Customer = customer
	}
	if expires != 0 {
		at := time.Now().Add(expires).UTC().Truncate(time.Second)
		c.Expires = &at
	}
	if rate != 0 {
		c.CallsPerSecond = &rate
	}
	if *path != "" {
		if err := tokens.Add(*path, c); err != nil {
			return err
		}
		_, err := fmt.Fprintln(env.out, token)
		return err
	}
	if err := c.Check(); err != nil {
		return usageError{err}
	}
	entry, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.out, "%s\n%s\n", token, entry)
	return err
}

func rightNames() []string {
	var names []string
	for _, r := range auth.Rights() {
		names = append(names, string(r))
	}
	return names
}
