package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, stdout, _ := quartet(t.Context(), nil, "completion", shell); code != 0 || !strings.Contains(stdout, "eval check state-keys webhook-secret bench") {
			t.Errorf("%s: code %d, %q", shell, code, stdout)
		}
	}
	if code, _, stderr := quartet(t.Context(), nil, "completion", "tcsh"); code != 2 || !strings.Contains(stderr, "bash, zsh or fish") {
		t.Errorf("an unknown shell: code %d, %s", code, stderr)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	// The program of the script prints a help of its own, so that this needs no build.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "quartet"), []byte("#!/bin/sh\necho '      --listen address   where'\necho '      --log-level        how'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, script, _ := quartet(t.Context(), nil, "completion", "bash")
	for words, want := range map[string]string{"quartet se": "serve", "quartet serve --li": "--listen", "quartet serve --l": "--listen --log-level"} {
		fields := strings.Fields(words)
		cmd := exec.Command("bash", "-c", script+`COMP_WORDS=($*); COMP_CWORD=$(($#-1)); _quartet; echo ${COMPREPLY[*]}`, "-")
		cmd.Args = append(cmd.Args, fields...)
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q is completed to %q, %v; want %q", words, out, err, want)
		}
	}
}
