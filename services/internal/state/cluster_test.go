package state

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestAClusterClientFollowsAFailOver(t *testing.T) {
	client := address{kind: kindCluster, hosts: []string{"localhost:6379"}}.client()
	defer client.Close()
	c, ok := client.(*redis.ClusterClient)
	if !ok {
		t.Fatalf("got a %T", client)
	}
	if got := c.Options().ClusterStateReloadInterval; got > time.Second {
		t.Errorf("the client asks every %v which node has which slot, want at most every second", got)
	}
}

func TestTheURLBoundsConnections(t *testing.T) {
	for url, want := range map[string]int{"redis://h": poolSize, "redis://h?pool=7": 7} {
		a, err := parse(url)
		if err != nil {
			t.Fatal(err)
		}
		client := a.client().(*redis.Client)
		defer client.Close()
		if got := client.Options().PoolSize; got != want {
			t.Errorf("%s: %d connections, want %d", url, got, want)
		}
	}
}
