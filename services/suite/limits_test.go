package suite

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// contractMethods returns all methods of Quartet's contracts, by full name.
func contractMethods() map[string]protoreflect.MethodDescriptor {
	found := make(map[string]protoreflect.MethodDescriptor)
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "quartet.") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				found["/"+string(service.FullName())+"/"+string(m.Name())] = m
			}
		}
		return true
	})
	return found
}

func TestEveryMethodHasALimit(t *testing.T) {
	all := contractMethods()
	if len(all) < 40 {
		t.Fatalf("only %d methods", len(all))
	}
	for name := range all {
		if requestBytes[name] == 0 {
			t.Errorf("%s has no limit in requestBytes", name)
		}
	}
	for name := range requestBytes {
		if all[name] == nil {
			t.Errorf("%s does not exist", name)
		}
	}
}
