package suite

import (
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/quartet-commerce/quartet/services/internal/auth"
)

// methods collects the full names of the methods that are registered.
type methods []string

func (m *methods) RegisterService(d *grpc.ServiceDesc, _ any) {
	for _, method := range d.Methods {
		*m = append(*m, "/"+d.ServiceName+"/"+method.MethodName)
	}
	for _, stream := range d.Streams {
		*m = append(*m, "/"+d.ServiceName+"/"+stream.StreamName)
	}
}

func TestEveryMethodThatIsServedHasARule(t *testing.T) {
	cfg := minimal(t)
	var served methods
	for _, role := range Roles() {
		inst, err := New(role, cfg)
		if err != nil {
			t.Fatal(err)
		}
		inst.service.Register(&served)
		if err := inst.close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(served)
	if all := slices.Compact([]string(served)); !slices.Equal(all, auth.Methods()) {
		t.Errorf("served are\n%q\nand there are rules for\n%q", all, auth.Methods())
	}
}
