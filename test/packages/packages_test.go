// Package packages tests the .deb and the .rpm with real package managers: what they contain,
// whether two builds are the same, and on booted nodes their installation, upgrade, downgrade and
// removal.
package packages

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/netwright/netwright/systemd"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/release"
)

// The same source makes the same bytes, for both architectures. Other implementations accept the
// checksums and their signature.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "dpkg-deb", "rpm", "minisign")
	file := small(t)
	one, two := released(t, "v1.0.0", "-program", "amd64="+file, "-program", "arm64="+file), released(t, "v1.0.0", "-program", "amd64="+file, "-program", "arm64="+file)
	for _, name := range []string{"netwright_1.0.0_amd64.deb", "netwright_1.0.0_arm64.deb", "netwright-1.0.0-1.x86_64.rpm", "netwright-1.0.0-1.aarch64.rpm", "SHA256SUMS"} {
		a, errA := os.ReadFile(filepath.Join(one, name))
		b, errB := os.ReadFile(filepath.Join(two, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not the same twice (%v, %v)", name, errA, errB)
		}
	}
	sums := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = one
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}

	key := filepath.Join(t.TempDir(), "key")
	run(t, program.Agent(t), "store", "keygen", "--out", key)
	signed := released(t, "v1.0.0", "-key", key+".key", "-program", "amd64="+file)
	if out := run(t, needs.Path("minisign"), "-Vm", filepath.Join(signed, "SHA256SUMS"), "-p", key+".pub"); !strings.Contains(out, "netwright v1.0.0") {
		t.Errorf("minisign: %s", out)
	}
}

// What git calls later is newer for package managers.
func TestVersionsAreInOrder(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "dpkg", "rpm")
	var last string
	for _, described := range []string{"0123abc", "v0.9.0-12-g0123abc", "v1.0.0-rc.1", "v1.0.0-rc.1-3-g0123abc", "v1.0.0-rc.2", "v1.0.0", "v1.0.0-4-g0123abc", "v1.0.0-12-g0123abc", "v1.0.1", "v1.10.0"} {
		version := strings.TrimSpace(run(t, release.Packager(t), "-show-version", "-version", described, "-time", release.Time))
		if last != "" {
			run(t, "dpkg", "--compare-versions", last, "lt", version)
			if got := strings.TrimSpace(run(t, needs.Path("rpm"), "--eval", fmt.Sprintf("%%{lua: print(rpm.vercmp(%q, %q))}", last, version))); got != "-1" {
				t.Errorf("rpm: %s and %s: %s", last, version, got)
			}
		}
		last = version
	}
}

// Package managers find in the packages what they need, without a complaint.
func TestContents(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "dpkg-deb", "rpm", "shellcheck")
	file := small(t)
	dir := released(t, "v1.0.0", "-program", "amd64="+file, "-program", "arm64="+file)
	for arch, name := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		deb, rpm := filepath.Join(dir, "netwright_1.0.0_"+arch+".deb"), filepath.Join(dir, "netwright-1.0.0-1."+name+".rpm")
		if got := run(t, "dpkg-deb", "-f", deb, "Architecture", "Version"); got != "Architecture: "+arch+"\nVersion: 1.0.0\n" {
			t.Errorf("dpkg-deb: %q", got)
		}
		if got := run(t, needs.Path("rpm"), "-qp", "--qf", "%{NAME} %{VERSION} %{ARCH}", rpm); got != "netwright 1.0.0 "+name {
			t.Errorf("rpm: %q", got)
		}
		run(t, needs.Path("rpm"), "-K", "--nosignature", rpm)
		if got := run(t, needs.Path("rpm"), "-qcp", rpm); got != "/etc/netwright/agent.yaml\n" {
			t.Errorf("rpm's configuration: %q", got)
		}
		tree := t.TempDir()
		run(t, "dpkg-deb", "-R", deb, tree)
		for path, want := range map[string]string{
			"/DEBIAN/conffiles": "/etc/netwright/agent.yaml\n", "/usr/lib/systemd/system/netwright-agent.service": systemd.Agent,
			"/usr/lib/systemd/system/netwright-recover.service": systemd.Recover, "/usr/lib/systemd/system/netwright-undo.service": systemd.Undo,
		} {
			if got, err := os.ReadFile(tree + path); err != nil || string(got) != want {
				t.Errorf("%s: ReadFile returns %q (%v), want %q", path, got, err, want)
			}
		}
		for _, path := range []string{"/usr/share/man/man1/netwright-store-publish.1.gz", "/usr/share/bash-completion/completions/netwright", "/usr/share/zsh/vendor-completions/_netwright"} {
			if info, err := os.Stat(tree + path); err != nil || info.Size() == 0 {
				t.Errorf("%s: Stat returns %v", path, err)
			}
		}
		for _, script := range []string{"postinst", "prerm", "postrm"} {
			run(t, "shellcheck", "--exclude=SC2317", tree+"/DEBIAN/"+script)
		}
		scripts := run(t, needs.Path("rpm"), "-qp", "--scripts", rpm)
		for _, part := range regexp.MustCompile(`(?m)^(postinstall|preuninstall|postuninstall) scriptlet.*$`).Split(scripts, -1)[1:] {
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(strings.TrimLeft(part, "\n")), 0o755); err != nil {
				t.Fatal(err)
			}
			run(t, "shellcheck", "--shell=sh", "--exclude=SC2317", file)
		}
	}
}
