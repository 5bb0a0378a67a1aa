package main

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/quartet-commerce/quartet/services/internal/bundle"
)

// replayFile names the turn to replay in a process without a network.
const replayFile = "QUARTET_TEST_REPLAY_FILE"

// A turn replays in a network namespace that has nothing but its own loopback: every connection to elsewhere fails.
func TestReplayWithoutANetwork(t *testing.T) {
	if file := os.Getenv(replayFile); file != "" {
		loopbackUp(t)
		if out, errs, code := runWith(t, "", "replay", file); code != 0 || !strings.Contains(out, "the same reply and spans") {
			t.Errorf("code %d, %s%s", code, out, errs)
		}
		return
	}
	dir := t.TempDir()
	env := environment{get: func(string) string { return "" }, in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
	l, err := openLocal(t.Context(), localConfig{
		models: &modelFlags{}, logger: newLogger(env, 12), demo: true, record: &recordFlags{dir: dir, keep: bundle.All, ttl: bundle.DefaultTTL},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	reply := askLocal(t, l, "waterproof hiking boots under 150, and can I return them?")
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), replayFile+"="+filepath.Join(dir, "store-demo", reply.GetTurnId()+".jsonl"))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		t.Skipf("this machine makes no network namespaces: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// loopbackUp starts the loopback interface of a new network namespace.
func loopbackUp(t *testing.T) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	var request [40]byte // struct ifreq
	copy(request[:syscall.IFNAMSIZ], "lo")
	binary.NativeEndian.PutUint16(request[syscall.IFNAMSIZ:], syscall.IFF_UP|syscall.IFF_RUNNING)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request[0]))); errno != 0 {
		t.Fatal(errno)
	}
}
