// Package rootfs builds the system that nodes and VMs boot: the release that this machine itself
// runs (Debian or Ubuntu), from the mirror that its own apt uses, so that tests name no host and
// work wherever apt works.
package rootfs

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/needs"
)

//go:embed rootfs.go
var recipe string // whatever is written here decides what a system holds

// One system serves nodes and VMs: each would take most of a minute.
var packages = []string{
	"systemd-sysv", "dbus", "udev", "kmod", "procps", "ca-certificates",
	"iproute2", "iptables", "nftables", "ipset", "conntrack", "ethtool", "iputils-ping", "socat", "tcpdump", "curl", "jq",
	"containerd", "runc",
	"busybox-static", "cpio", // for a small initial RAM disk
}

var kernels = map[string]string{"Debian": "linux-image-cloud-amd64", "Ubuntu": "linux-image-virtual"}

// System returns a root file system with systemd, containerd, the usual network tools and, on
// amd64, a kernel for virtual machines with its modules. It is built once (in about a minute) and
// cached. A caller that changes it works on a Copy. System fails or skips the test if it cannot be
// built.
func System(t testing.TB) string {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "debootstrap")
	return cache.Built(t, "system", cache.Key(recipe), func(dir string) error {
		ctx := context.Background() // not the test's: half a build is lost, and the next test would begin anew
		release, err := own(ctx)
		if err != nil {
			return err
		}
		wanted := packages
		if runtime.GOARCH == "amd64" {
			wanted = append(wanted, kernels[release.distribution])
		}
		return release.debootstrap(ctx, dir, wanted)
	})
}

// Copy copies a root file system with all owners, times and modes.
func Copy(ctx context.Context, from, to string) error {
	if _, err := run(ctx, nil, "cp", "-a", "--reflink=auto", from+"/.", to); err != nil {
		return fmt.Errorf("copying a root file system: %w", err)
	}
	return nil
}

type release struct {
	distribution string // "Debian" or "Ubuntu"
	codename     string // "bookworm"
	mirror       string
	components   []string
}

// own is this machine's own release. It runs apt-get update when the machine has no package lists.
func own(ctx context.Context) (release, error) {
	osRelease, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return release{}, fmt.Errorf("reading this machine's release: %w", err)
	}
	codename := ""
	for line := range strings.Lines(string(osRelease)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			codename = strings.Trim(value, `"`)
		}
	}
	found, err := fromApt(ctx, codename)
	if errors.Is(err, errNoLists) {
		if _, err := run(ctx, nil, "apt-get", "update", "-qq"); err != nil {
			return release{}, fmt.Errorf("updating the package lists: %w", err)
		}
		found, err = fromApt(ctx, codename)
	}
	if err != nil {
		return release{}, fmt.Errorf("finding the mirror of %q: %w", codename, err)
	}
	return found, nil
}

var errNoLists = errors.New("apt knows no Debian or Ubuntu source of this release: check /etc/apt/sources.list.d")

// fromApt asks apt for the sources that it reads, in whichever of its formats they are written.
func fromApt(ctx context.Context, codename string) (release, error) {
	out, err := run(ctx, nil, "apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI) $(COMPONENT)", "Created-By: Packages")
	if err != nil {
		return release{}, fmt.Errorf("listing apt's sources: %w", err)
	}
	found := release{codename: codename}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 4 || f[1] != codename || (f[0] != "Debian" && f[0] != "Ubuntu") {
			continue
		}
		if found.mirror == "" {
			found.distribution, found.mirror = f[0], f[2]
		}
		if f[2] == found.mirror {
			found.components = append(found.components, f[3])
		}
	}
	if found.mirror == "" {
		return release{}, errNoLists
	}
	return found, nil
}

// debootstrap installs the release's minimal system and the packages into dir, which must exist.
// Needs root.
func (r release) debootstrap(ctx context.Context, dir string, packages []string) error {
	_, err := run(ctx, nil, "debootstrap", "--variant=minbase", "--components="+strings.Join(r.components, ","),
		"--include="+strings.Join(packages, ","), r.codename, dir, r.mirror)
	if err != nil {
		detail, _ := os.ReadFile(filepath.Join(dir, "debootstrap", "debootstrap.log"))
		return fmt.Errorf("installing %s with debootstrap: %w\n%s", r.codename, err, tail(detail, 2000))
	}
	return nil
}

// Chroot runs a shell script inside of the root file system dir. Needs root.
func Chroot(ctx context.Context, dir, script string) error {
	if _, err := run(ctx, strings.NewReader(script), "chroot", dir, "/bin/sh", "-eu"); err != nil {
		return fmt.Errorf("running a script in the new root: %w", err)
	}
	return nil
}

// WriteFiles writes files, by their path inside of dir, with their parents: 0755 for what starts
// with "#!", 0644 for the rest.
func WriteFiles(dir string, files map[string]string) error {
	for path, content := range files {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making the parent of a file of the root: %w", err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			return fmt.Errorf("writing a file of the root: %w", err)
		}
	}
	return nil
}

func run(ctx context.Context, stdin *strings.Reader, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
		"INITRD=No", // the kernel's package would make one, which takes long and which nobody boots
		"PATH="+os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin")
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", name, err, tail(out.Bytes(), 2000), tail(errs.Bytes(), 2000))
	}
	return out.String(), nil
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
