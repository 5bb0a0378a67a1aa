package deploy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	// repository is the root of the repository: the context that the image is built from.
	repository = "../.."
	dockerfile = "../Dockerfile"
)

// program is the quartet program as the Dockerfile builds it.
var program struct {
	once sync.Once
	path string
	err  error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "quartet-image")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	imageRoot = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // the system clears its temporary files
	os.Exit(code)
}

// imageRoot is the root of the build stage's files.
var imageRoot string

// quartet returns the path of the program, which it builds once.
func quartet(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		text, err := os.ReadFile(dockerfile)
		if err != nil {
			program.err = err
			return
		}
		program.path, program.err = replay(string(text), imageRoot)
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

func TestDockerfileBuildsTheProgram(t *testing.T) {
	out, err := exec.Command(quartet(t), "help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Usage: quartet") {
		t.Errorf("quartet help: %v\n%s", err, out)
	}
	if out, err := exec.Command(quartet(t), "--version").CombinedOutput(); err != nil || string(out) != "devel\n" {
		t.Errorf("quartet --version: %v, %s; want the image's VERSION", err, out)
	}
}

func TestReplayNoticesWhatIsNotCopied(t *testing.T) {
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	lacking := strings.Replace(string(text), "COPY pkg ../pkg\n", "", 1)
	if lacking == string(text) {
		t.Fatal("the Dockerfile does not copy pkg")
	}
	if _, err := replay(lacking, t.TempDir()); err == nil || !strings.Contains(err.Error(), "go build") {
		t.Errorf("error is %v, want a failed go build", err)
	}
}

// ko builds on the base of the Dockerfile, with its flags.
func TestKoBuildsWhatTheDockerfileDoes(t *testing.T) {
	var ko struct {
		DefaultBaseImage string
		Builds           []struct {
			Main                string
			Env, Flags, Ldflags []string
		}
	}
	config, err := os.ReadFile(filepath.Join(repository, "services", ".ko.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(config, &ko)
	}
	if err != nil || len(ko.Builds) != 1 {
		t.Fatalf("%d builds, %v", len(ko.Builds), err)
	}
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	b := ko.Builds[0]
	for _, want := range []string{
		"FROM " + ko.DefaultBaseImage, "ENV " + strings.Join(b.Env, " "), b.Main,
		fmt.Sprintf("go build %s -ldflags=%q", strings.Join(b.Flags, " "), strings.ReplaceAll(strings.Join(b.Ldflags, " "), "{{.Env.VERSION}}", "$VERSION")),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the Dockerfile has no %s", want)
		}
	}
}

// replay does what a container engine would do with the first stage of a Dockerfile: it copies what COPY names, and nothing
// else, into the empty directory root and runs the commands of RUN there, with this machine's Go. It returns the path of the
// file that the second stage copies.
func replay(text, root string) (program string, err error) {
	env, workdir, stages := os.Environ(), "/", 0
	inside := func(name string) string { // the place of a path of the image
		if !path.IsAbs(name) {
			name = path.Join(workdir, name)
		}
		return filepath.Join(root, filepath.FromSlash(path.Clean(name)))
	}
	for line := range strings.Lines(text) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		fields := strings.Fields(rest)
		switch {
		case instruction == "" || strings.HasPrefix(instruction, "#"):
		case stages == 2 && (instruction == "ARG" || instruction == "LABEL" || strings.HasPrefix(instruction, "org.opencontainers.")):
		case instruction == "FROM":
			stages++
		case stages == 2 && instruction == "COPY" && len(fields) == 3 && fields[0] == "--from=build":
			program = inside(fields[1])
			_, err := os.Stat(program)
			return program, err
		case stages == 1 && (instruction == "ENV" || instruction == "ARG"):
			env = append(env, fields...)
		case stages == 1 && instruction == "WORKDIR":
			workdir = path.Join(workdir, rest)
			err = os.MkdirAll(inside("."), 0o700)
		case stages == 1 && instruction == "COPY" && len(fields) > 1:
			for _, from := range fields[:len(fields)-1] {
				err = errors.Join(err, copyInto(from, inside(fields[len(fields)-1])))
			}
		case stages == 1 && instruction == "RUN":
			cmd := exec.Command("sh", "-c", rest)
			cmd.Dir, cmd.Env = inside("."), env
			var out []byte
			if out, err = cmd.CombinedOutput(); err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
		default:
			err = errors.New("the replay does not know this instruction")
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	return "", errors.New("no stage copies from the stage build")
}

// copyInto copies a file of the repository into a directory, or the contents of a directory, as COPY does.
func copyInto(from, dir string) error {
	source := filepath.Join(repository, filepath.FromSlash(from))
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return filepath.WalkDir(source, func(name string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			rel, err := filepath.Rel(source, name)
			if err != nil {
				return err
			}
			return copyFile(name, filepath.Join(dir, rel))
		})
	}
	return copyFile(source, filepath.Join(dir, filepath.Base(source)))
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
