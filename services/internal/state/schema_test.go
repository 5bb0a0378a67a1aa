package state

import (
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

func TestDataOfAnotherReleaseIsRefused(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	for range 2 { // an empty Redis, then its own data
		if err := CheckSchema(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	for value, want := range map[string]string{"2": "newer Quartet", "0": "older Quartet", "soon": "another program"} {
		if err := server.Set(schemaKey, value); err != nil {
			t.Fatal(err)
		}
		if err := CheckSchema(t.Context(), client); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with version %q: error %v, want one with %q", value, err, want)
		}
		if got, _ := server.Get(schemaKey); got != value {
			t.Errorf("the version was overwritten with %q", got)
		}
	}
	server.Close()
	if err := CheckSchema(t.Context(), client); err == nil {
		t.Error("no error without Redis")
	}
}
