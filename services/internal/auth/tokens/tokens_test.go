package tokens

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// entryOf is a caller in a file with one token.
func entryOf(name, token, more string) string {
	return `{"name":"` + name + `","token_sha256":["` + Hash(token) + `"],"grants":[{"store":"demo","rights":["ask"]}]` + more + `}`
}

func refused(err error) bool {
	var e *fault.Unauthenticated
	return errors.As(err, &e)
}

func TestTokensAreUnpredictable(t *testing.T) {
	one, other := New(), New()
	if one == other || !strings.HasPrefix(one, Prefix) || len(one) != len(Prefix)+43 {
		t.Errorf("got %q and %q", one, other)
	}
}

func TestACallerIsKnownByEachOfItsTokens(t *testing.T) {
	old, next := New(), New()
	path := filepath.Join(t.TempDir(), "tokens.json")
	write(t, path, `{"callers":[{"name":"app","token_sha256":["`+Hash(old)+`","`+strings.ToUpper(Hash(next))+`"],
		"grants":[{"store":"demo","rights":["ask","carts"]},{"store":"*","rights":["usage"]}],
		"customer":"ava","customer_groups":["members"],"calls_per_second":2.5}]}`)
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := auth.Caller{Name: "app", Customer: "ava", CustomerGroups: []string{"members"}, Rate: 2.5, Grants: []auth.Grant{
		{Store: "demo", Rights: []auth.Right{auth.RightAsk, auth.RightCarts}}, {Store: "*", Rights: []auth.Right{auth.RightUsage}}}}
	for _, token := range []string{old, next} {
		got, err := f.Authenticate(t.Context(), token)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	for _, token := range []string{"", New(), Hash(old), old + " "} {
		if got, err := f.Authenticate(t.Context(), token); !refused(err) || got.Name != "" || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%q: %+v, %v", token, got, err)
		}
	}
}

func TestTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := New()
		path := filepath.Join(t.TempDir(), "tokens.json")
		write(t, path, `{"callers":[`+entryOf("app", token, `,"expires":"`+time.Now().Add(time.Minute).Format(time.RFC3339)+`"`)+`]}`)
		f, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute - time.Nanosecond)
		if _, err := f.Authenticate(t.Context(), token); err != nil {
			t.Error(err)
		}
		<-time.After(time.Nanosecond)
		if _, err := f.Authenticate(t.Context(), token); !refused(err) {
			t.Errorf("after its expiry: %v", err)
		}
	})
}

func TestAChangedFileIsUsedAndABadOneIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, next := New(), New()
		path := filepath.Join(t.TempDir(), "tokens.json")
		write(t, path, `{"callers":[`+entryOf("app", old, "")+`]}`)
		var log bytes.Buffer
		f, err := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		accepts := func(token string, want bool) {
			t.Helper()
			if _, err := f.Authenticate(t.Context(), token); (err == nil) != want {
				t.Errorf("accepted: %v, want %v", err == nil, want)
			}
		}
		write(t, path, `{"callers":[`+entryOf("app", next, "")+`,]}`)
		<-time.After(reload.Interval)
		accepts(old, true)
		if !strings.Contains(log.String(), "line 1") || !strings.Contains(log.String(), path) {
			t.Errorf("the log says %s", log.String())
		}
		write(t, path, `{"callers":[`+entryOf("app", next, "")+`]}`)
		<-time.After(reload.Interval)
		accepts(old, false)
		accepts(next, true)
		write(t, path, `{"callers":[]}`) // everybody is removed
		<-time.After(reload.Interval)
		accepts(next, false)
	})
}

func TestErrorsOfAFileNameThePlace(t *testing.T) {
	hash := Hash("x")
	grants := `"grants":[{"store":"demo","rights":["ask"]}]`
	entry := func(fields string) string { return `{"callers":[` + "\n" + `{` + fields + `}]}` }
	for content, want := range map[string]string{
		"":                                 "line 1",
		"{\n\"callers\": [\n}":             "line 3",
		"{\n\"caller\": []}":               "unknown field",
		`{"callers":[]} {}`:                "after the end",
		entry(`"name":7`):                  "line 2: callers.name",
		entry(`"name":"a","tokens":["x"]`): "line 2",
		entry(`"name":"a b","token_sha256":["` + hash + `"],` + grants):                                                           "callers[0].name",
		entry(`"name":"local","token_sha256":["` + hash + `"],` + grants):                                                         "without credentials",
		entry(`"name":"a",` + grants):                                                                                             "callers[0].token_sha256: is required",
		entry(`"name":"a","token_sha256":["abc"],` + grants):                                                                      "callers[0].token_sha256[0]",
		entry(`"name":"a","token_sha256":["` + hash + `zz"],` + grants):                                                           "callers[0].token_sha256[0]",
		entry(`"name":"a","token_sha256":["` + hash + `","` + hash + `"],` + grants):                                              "twice",
		entry(`"name":"a","token_sha256":["` + hash + `"]`):                                                                       "callers[0].grants: is required",
		entry(`"name":"a","token_sha256":["` + hash + `"],"grants":[{"store":"a b","rights":["ask"]}]`):                           "grants[0].store",
		entry(`"name":"a","token_sha256":["` + hash + `"],"grants":[{"store":"a","rights":[]}]`):                                  "grants[0].rights: is required",
		entry(`"name":"a","token_sha256":["` + hash + `"],"grants":[{"store":"a","rights":["ask","all"]}]`):                       `grants[0].rights[1]: "all"`,
		entry(`"name":"a","token_sha256":["` + hash + `"],` + grants + `,"customer":""`):                                          "callers[0].customer",
		entry(`"name":"a","token_sha256":["` + hash + `"],` + grants + `,"customer_groups":["x"]`):                                "needs customer",
		entry(`"name":"a","token_sha256":["` + hash + `"],` + grants + `,"calls_per_second":0`):                                   "calls_per_second",
		entry(`"name":"a","token_sha256":["` + hash + `"],` + grants + `},{"name":"a","token_sha256":["` + hash + `"],` + grants): "callers[1].name",
	} {
		if _, err := parse([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", content, err, want)
		}
	}
}

func TestAddMakesAndExtendsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	first, second, other := New(), New(), New()
	grants := []Grant{{Store: "demo", Rights: []auth.Right{auth.RightAsk}}}
	for _, step := range []struct {
		caller Caller
		fails  string
	}{
		{Caller{Name: "app", SHA256: []string{Hash(first)}}, "no caller"},
		{Caller{Name: "app", SHA256: []string{Hash(first)}, Grants: grants}, ""},
		{Caller{Name: "app", SHA256: []string{Hash(second)}, Grants: grants}, "already"},
		{Caller{Name: "app", SHA256: []string{Hash(second)}}, ""},
		{Caller{Name: "bad name", SHA256: []string{Hash(other)}, Grants: grants}, "name"},
		{Caller{Name: "job", SHA256: []string{Hash(other)}, Grants: grants}, ""},
	} {
		if err := Add(path, step.caller); (err == nil) != (step.fails == "") || err != nil && !strings.Contains(err.Error(), step.fails) {
			t.Errorf("%s: %v, want %q", step.caller.Name, err, step.fails)
		}
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for token, name := range map[string]string{first: "app", second: "app", other: "job"} {
		if got, err := f.Authenticate(t.Context(), token); err != nil || got.Name != name {
			t.Errorf("%+v, %v; want %s", got, err, name)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".tokens-*")); err != nil || len(names) > 0 {
		t.Errorf("left are %v, %v", names, err)
	}
}
