package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

// untested is how many blocks of commands the pages mark with no-test, because they need a cluster, another host, a data set or
// minutes. A new one is a decision: change the number with it.
const untested = 35

var (
	docBlock = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```")
	// startsServers finds blocks that take the ports of earlier ones. A reader stops those first, as the README says.
	startsServers = regexp.MustCompile(`\bquartet (up\b|model\b|serve [^m])`)
)

// TestCommandsOfThePages runs the commands of each page in order, as a reader pastes them: those of a page in one shell, in the root of
// the repository, with quartet and grpcurl on the PATH. A page that begins without a server finds 'quartet up' running. The marks of a
// block: "sh" is run, "sh fails" must end with an error, "sh no-test" is only counted, and "sh cluster" is run by .ci/cluster.
//
// Each page has namespaces of its own. So its ports are free, its files vanish, its processes end with it, and nothing is
// reached that the page does not start.
func TestCommandsOfThePages(t *testing.T) {
	if racedetector.On {
		t.Skip("the commands run in processes, which the run without the race detector has tried")
	}
	if err := exec.Command("unshare", append(unshared(), "true")...).Run(); err != nil {
		t.Skipf("this system gives no namespaces, which the commands need: unshare: %v", err)
	}
	for _, program := range []string{"curl", "jq", "node", "openssl", "python3", "redis-server"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, err.Error())
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	install(t, root, bin)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "examples/clients/README.md"), filepath.Join(root, "examples/web/README.md"))
	skipped := 0
	for _, page := range pages {
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		script, marked := pageScript(t, page, name)
		skipped += marked
		if script == "" {
			continue
		}
		t.Run(name, func(t *testing.T) { t.Parallel(); runPage(t, root, bin, script) })
	}
	if skipped != untested {
		t.Errorf("%d blocks are marked no-test, want %d", skipped, untested)
	}
}

// missing skips a test for want of a program, and fails it where CI is set.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// unshared are the arguments that give a command namespaces of its own.
func unshared() []string {
	args := []string{"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	return args
}

// install builds what the README has its reader install.
func install(t *testing.T, root, bin string) {
	t.Helper()
	for dir, program := range map[string]string{root: "./services/cmd/quartet", filepath.Join(root, "tools"): "github.com/fullstorydev/grpcurl/cmd/grpcurl"} {
		build := exec.CommandContext(t.Context(), "go", "install", program)
		build.Dir, build.Env = dir, append(os.Environ(), "GOBIN="+bin)
		if dir != root {
			build.Env = append(build.Env, "GOWORK=off")
		}
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("install %s: %v\n%s", program, err, out)
		}
	}
}

// pageScript returns the commands of a page as a script, "" if there are none to run, and how many blocks are marked no-test.
func pageScript(t *testing.T, page, name string) (script string, skipped int) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range docBlock.FindAllSubmatchIndex(text, -1) {
		mark, body := string(text[m[2]:m[3]]), string(text[m[4]:m[5]])
		line := 1 + strings.Count(string(text[:m[0]]), "\n")
		switch {
		case mark == "sh no-test":
			skipped++
			continue
		case mark != "sh" && mark != "sh fails":
			continue
		}
		if startsServers.MatchString(body) {
			b.WriteString("stop\n")
		} else if b.Len() == 0 {
			b.WriteString("quartet up &\n")
		}
		fmt.Fprintf(&b, "echo; echo '== %s:%d'\n", name, line)
		if mark == "sh fails" {
			fmt.Fprintf(&b, "set +e\n%sended=$?\nset -e\n[ $ended -ne 0 ]\n", body)
		} else {
			b.WriteString(body)
		}
	}
	return b.String(), skipped
}

// prelude gives a page its own /tmp and an empty layer over the repository. What it runs in the background are jobs, each a process group,
// which stop ends. One that has failed by then fails the page.
const prelude = `set -eo pipefail
ip link set lo up
mkdir -p "$WORK/layer" "$WORK/tmp${WORK#/tmp}"
mount -t tmpfs tmpfs "$WORK/layer"
mkdir "$WORK/layer/upper" "$WORK/layer/work"
mount -t overlay overlay -o "lowerdir=$ROOT,upperdir=$WORK/layer/upper,workdir=$WORK/layer/work" "$ROOT"
mount --bind "$WORK" "$WORK/tmp${WORK#/tmp}"
case $ROOT in /tmp/*) mkdir -p "$WORK/tmp${ROOT#/tmp}"; mount --rbind "$ROOT" "$WORK/tmp${ROOT#/tmp}" ;; esac
mount --rbind "$WORK/tmp" /tmp
cd "$ROOT"
set -m
stop() {
	local job
	sleep 0.5 # a server that cannot start says so by now
	if jobs | grep Exit; then return 1; fi
	for job in $(jobs -p); do kill -- "-$job" || true; done
	wait || true
}
`

func runPage(t *testing.T, root, bin, script string) {
	work := t.TempDir()
	file := filepath.Join(work, "page.sh")
	if err := os.WriteFile(file, []byte(prelude+script+"stop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	programs := filepath.Join(work, "bin")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"quartet", "grpcurl"} {
		if err := os.Link(filepath.Join(bin, program), filepath.Join(programs, program)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page := exec.CommandContext(ctx, "unshare", append(unshared(), "bash", file)...)
	page.Env = append(os.Environ(), "ROOT="+root, "WORK="+work, "PATH="+programs+":"+os.Getenv("PATH"), "GOPROXY=off",
		"OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=", "GEMINI_API_KEY=")
	page.WaitDelay = 10 * time.Second
	begun := time.Now()
	out, err := page.CombinedOutput()
	t.Logf("%v", time.Since(begun).Round(time.Millisecond))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
