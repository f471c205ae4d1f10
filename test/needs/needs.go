// Package needs says what a test needs of the machine: root, a program, an architecture. If that is
// missing, the test is skipped, with the reason and with what to do. Under CI=true the test fails
// instead, so that a suite cannot pass without running.
package needs

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Root needs uid 0, for namespaces, mounts and booted nodes.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "needs root (namespaces and mounts): run as root, `sudo -E make test`")
	}
}

// Tool needs programs in PATH or in the sbin directories, which are often missing in a user's PATH.
// test/setup.sh installs all of these programs.
func Tool(t testing.TB, names ...string) {
	t.Helper()
	var absent []string
	for _, name := range names {
		if Path(name) == "" {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		Missing(t, "needs "+strings.Join(absent, ", ")+": run test/setup.sh as root on Debian or Ubuntu, or install them by hand")
	}
}

// Arch needs one of the given GOARCH values.
func Arch(t testing.TB, archs ...string) {
	t.Helper()
	if !slices.Contains(archs, runtime.GOARCH) {
		Missing(t, "needs a machine of "+strings.Join(archs, " or ")+", this one is "+runtime.GOARCH)
	}
}

// Missing ends the test because the machine lacks something: the test fails under CI=true, and is
// skipped otherwise. It is for needs that a test finds out only while it runs.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s (CI=true: nothing may be skipped)", reason)
	}
	t.Skip(reason)
}

// Path is the path of a program, or "" if the program is not found.
func Path(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/local/sbin/", "/usr/sbin/", "/sbin/"} {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path
		}
	}
	return ""
}
