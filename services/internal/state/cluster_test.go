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
