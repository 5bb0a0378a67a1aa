package agentloop

import "testing"

// A panic in a goroutine that nobody recovers in would end the process; it is the caller's of Step, as any other.
func TestAPanicOfTheValidatorReachesTheCaller(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there was no panic")
		}
	}()
	_ = derived{}.validate("x") // without a validator
}
