package facts

import (
	"os"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

func TestLearnVersions(t *testing.T) {
	program := t.TempDir() + "/kubelet"
	calls := t.TempDir() + "/calls"
	script := func(version string) {
		t.Helper()
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho x >>"+calls+"\necho Kubernetes "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("v1.36.3")
	stamps := versionBook{}
	ask := func(stamps hostfs.Stamps) string {
		t.Helper()
		h := sourcesOf(t, Options{Root: "/", Sandbox: true, Stamps: stamps})
		f := &Facts{Kubelet: KubeletFacts{Unit: "kubelet.service", Program: program, Version: h.cachedVersion(program)}}
		noError(t, LearnVersions(t.Context(), h, f))
		return f.Kubelet.Version
	}
	for range 3 {
		if got := ask(stamps); got != "1.36.3" {
			t.Errorf("version %q", got)
		}
	}
	if raw, err := os.ReadFile(calls); err != nil || string(raw) != "x\n" {
		t.Errorf("it was asked %q times (%v)", raw, err)
	}
	script("v1.37.0-rc.1")
	if got := ask(stamps); got != "1.37.0-rc.1" {
		t.Errorf("version %q of another program", got)
	}
	if got := ask(nil); got != "" {
		t.Errorf("version %q with nowhere to keep it", got)
	}
}

// A kubelet that tells no version is asked once, and so the error is reported once. The line that
// keeps it: versions.go, LearnVersions (asked).
func TestAProgramWithoutAVersionIsAskedOnce(t *testing.T) {
	for name, script := range map[string]string{"it says nothing": "true", "it fails": "exit 1"} {
		program := t.TempDir() + "/kubelet"
		noError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		h := sourcesOf(t, Options{Root: "/", Sandbox: true, Stamps: versionBook{}})
		for n := range 3 {
			f := &Facts{Kubelet: KubeletFacts{Unit: "kubelet.service", Program: program, Version: h.cachedVersion(program)}}
			if err := LearnVersions(t.Context(), h, f); (err != nil) != (n == 0) || f.Kubelet.Version != "" {
				t.Errorf("%s: time %d: version %q, %v", name, n, f.Kubelet.Version, err)
			}
		}
	}
}

type versionBook map[string]struct {
	info hostfs.FileInfo
	sum  blob.Digest
}

func (b versionBook) Lookup(path string, info hostfs.FileInfo) (blob.Digest, bool) {
	e, ok := b[path]
	return e.sum, ok && e.info == info
}

func (b versionBook) Record(path string, info hostfs.FileInfo, sum blob.Digest) {
	b[path] = struct {
		info hostfs.FileInfo
		sum  blob.Digest
	}{info, sum}
}
