// Package rootfs builds the root file systems that nodes and VMs boot: the release that this machine itself runs (Debian or Ubuntu),
// from the mirror that its own apt uses, so that tests name no host and work wherever apt works.
package rootfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/netwright/netwright/test/cache"
)

// Release is a distribution's release and where to get it.
type Release struct {
	Distribution string // "Debian" or "Ubuntu"
	Codename     string // "bookworm"
	mirror       string
	components   []string
}

// Own is this machine's own release. It runs apt-get update when the machine has no package lists.
func Own(ctx context.Context) (Release, error) {
	osRelease, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return Release{}, fmt.Errorf("reading this machine's release: %w", err)
	}
	codename := ""
	for line := range strings.Lines(string(osRelease)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
			codename = strings.Trim(value, `"`)
		}
	}
	release, err := fromApt(ctx, codename)
	if errors.Is(err, errNoLists) {
		if _, err := run(ctx, nil, "apt-get", "update", "-qq"); err != nil {
			return Release{}, fmt.Errorf("updating the package lists: %w", err)
		}
		release, err = fromApt(ctx, codename)
	}
	if err != nil {
		return Release{}, fmt.Errorf("finding the mirror of %q: %w", codename, err)
	}
	return release, nil
}

var errNoLists = errors.New("apt knows no Debian or Ubuntu source of this release: check /etc/apt/sources.list.d")

// fromApt asks apt for the sources that it reads, in whichever of its formats they are written.
func fromApt(ctx context.Context, codename string) (Release, error) {
	out, err := run(ctx, nil, "apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI) $(COMPONENT)", "Created-By: Packages")
	if err != nil {
		return Release{}, fmt.Errorf("listing apt's sources: %w", err)
	}
	release := Release{Codename: codename}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 4 || f[1] != codename || (f[0] != "Debian" && f[0] != "Ubuntu") {
			continue
		}
		if release.mirror == "" {
			release.Distribution, release.mirror = f[0], f[2]
		}
		if f[2] == release.mirror {
			release.components = append(release.components, f[3])
		}
	}
	if release.mirror == "" {
		return Release{}, errNoLists
	}
	return release, nil
}

// Debootstrap installs the release's minimal system and the packages into dir, which must exist. Needs root.
func (r Release) Debootstrap(ctx context.Context, dir string, packages ...string) error {
	root, err := cache.Dir()
	if err != nil {
		return err
	}
	debs := filepath.Join(root, "debs") // shared by nodes and VMs: half of their packages are the same
	if err := os.MkdirAll(debs, 0o755); err != nil {
		return fmt.Errorf("making the package cache: %w", err)
	}
	lock, err := cache.Lock(filepath.Join(root, "debs.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	_, err = run(ctx, nil, "debootstrap", "--variant=minbase", "--cache-dir="+debs, "--components="+strings.Join(r.components, ","),
		"--include="+strings.Join(packages, ","), r.Codename, dir, r.mirror)
	if err != nil {
		detail, _ := os.ReadFile(filepath.Join(dir, "debootstrap", "debootstrap.log"))
		return fmt.Errorf("installing %s with debootstrap: %w\n%s", r.Codename, err, tail(detail, 2000))
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

// WriteFiles writes files, by their path inside of dir, with their parents: 0755 for what starts with "#!", 0644 for the rest.
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
