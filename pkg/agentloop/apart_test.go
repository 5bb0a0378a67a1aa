package agentloop

import "testing"

// A panic in a goroutine that nobody recovers in would end the process; it is the caller's of Step, as any other.
func TestAPanicWhileCallsAreCheckedReachesTheCaller(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there was no panic")
		}
	}()
	broken := &Run{} // without a loop, whose tools are looked up
	broken.prepareApart(0, []ToolCall{{Name: "t"}})
}
