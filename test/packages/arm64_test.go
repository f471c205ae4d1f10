package packages

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/program"
)

// The packages for arm64 have the same content as those for amd64, except the program and the
// architecture.
func TestPackagesOfBothArchitecturesAreAlike(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "dpkg-deb", "rpm")
	file := small(t)
	dir := released(t, "v1.0.0", "-program", "amd64="+file, "-program", "arm64="+file)
	const format = "%{NAME} %{VERSION} %{RELEASE} %{SUMMARY} %{DESCRIPTION} %{LICENSE} [%{REQUIRES} %{REQUIREFLAGS} ][%{RECOMMENDS} ][%{PROVIDES} ]" +
		"[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILEFLAGS} %{FILEDIGESTS} %{FILELINKTOS}\n]%{PREIN}%{POSTIN}%{PREUN}%{POSTUN}"
	alike := func(what string, of func(arch, rpmArch string) string) {
		t.Helper()
		want(t, what, of("arm64", "aarch64"), strings.NewReplacer("amd64", "arm64", "x86_64", "aarch64", "x86-64", "aarch-64").Replace(of("amd64", "x86_64")))
	}
	deb := func(arch string) string { return filepath.Join(dir, "netwright_1.0.0_"+arch+".deb") }
	alike("the .deb's files", func(arch, _ string) string { return run(t, "dpkg-deb", "--contents", deb(arch)) })
	alike("the .deb's fields", func(arch, _ string) string { return run(t, "dpkg-deb", "--field", deb(arch)) })
	alike("the .deb's scripts and sums", func(arch, _ string) string {
		tree := t.TempDir()
		run(t, "dpkg-deb", "--control", deb(arch), tree)
		return run(t, "sh", "-c", `cd "$0" && for file in $(ls | grep -vx control); do stat -c '%A %n' $file; cat $file; done`, tree)
	})
	alike("the .rpm", func(_, arch string) string {
		return run(t, needs.Path("rpm"), "-qp", "--qf", format, filepath.Join(dir, "netwright-1.0.0-1."+arch+".rpm"))
	})
}

// An emulator of user space runs the program for arm64. The program knows its architecture, plans
// as this machine's program does, and makes the same of a disk. The emulator has no nft, so tests
// that need a kernel run only on amd64.
func TestARM64Runs(t *testing.T) {
	t.Parallel()
	if os.Getenv("NETWRIGHT_RELEASE") == "" {
		t.Skip("builds the agent for arm64, minutes where nothing is cached: make test-release")
	}
	needs.Tool(t, "qemu-aarch64", "dpkg-deb", "rpm2cpio", "cpio")
	needs.Arch(t, "amd64")
	arm, emulator := program.AgentFor(t, "arm64"), needs.Path("qemu-aarch64")
	withinBudget(t, arm)
	dir := released(t, "v1.0.0", "-program", "arm64="+arm)
	tree := t.TempDir()
	run(t, "dpkg-deb", "-x", filepath.Join(dir, "netwright_1.0.0_arm64.deb"), tree)
	packaged := filepath.Join(tree, "usr/bin/netwright")
	run(t, "cmp", arm, packaged)
	run(t, "sh", "-c", `rpm2cpio "$0" | cpio --quiet -i --to-stdout '*/usr/bin/netwright' | cmp - "$1"`, filepath.Join(dir, "netwright-1.0.0-1.aarch64.rpm"), arm)
	header, err := elf.Open(packaged)
	if err != nil {
		t.Fatal(err)
	}
	defer header.Close() // only read from
	if header.Machine != elf.EM_AARCH64 || header.Section(".interp") != nil {
		t.Errorf("the program is for %s, with an interpreter: %v", header.Machine, header.Section(".interp") != nil)
	}

	if out := run(t, emulator, packaged, "version"); !strings.Contains(out, "linux/arm64") {
		t.Errorf("version: %s", out)
	}
	same := func(args ...string) {
		t.Helper()
		want(t, strings.Join(args, " "), run(t, emulator, append([]string{packaged}, args...)...), run(t, program.Agent(t), args...))
	}
	same("--help")
	same("networks")
	same("store", "check", "../../examples/bridge")
	if out := run(t, emulator, packaged, "facts"); !strings.Contains(out, ", arm64\n") {
		t.Errorf("facts: %s", out)
	}

	// The program of each architecture makes the same plan and the same files on a disk.
	archive, sum := assets.CNIArchive(t)
	store := t.TempDir()
	both := fmt.Sprintf("%s, urls: [assets/plugins.tgz]}, arm64: {sha256: %s", sum, sum)
	for path, text := range map[string]string{"cluster.yaml": fmt.Sprintf(document, "amd64", both), "nodes/node-1.yaml": nodeDocument} {
		file := filepath.Join(store, "packages.example.com", path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "install", "-D", "-m", "0644", archive, filepath.Join(store, "packages.example.com/assets/plugins.tgz"))
	made := func(arch string, agent ...string) (plan, files string) {
		root := filepath.Join(t.TempDir(), "root")
		run(t, "cp", "-a", tree, root)
		run(t, "sh", "-c", `mkdir -p "$0/etc" "$0/usr/lib/systemd"; printf 'ID=debian\nVERSION_ID=12\n' >"$0/etc/os-release"; cp "$1" "$0/usr/lib/systemd/systemd"`, root, agent[len(agent)-1])
		args := append(agent[1:], "--root", root, "--store", store, "--node", "node-1")
		dry := exec.Command(agent[0], append(args, "--dry-run")...)
		out, err := dry.CombinedOutput()
		if err == nil || dry.ProcessState.ExitCode() != 2 {
			t.Errorf("%s: a dry run that has something to do: %v: %s", arch, err, out)
		}
		once := run(t, agent[0], append(args, "--once")...)
		return string(out) + once, run(t, "sh", "-c", `cd "$0" && find etc opt usr -type f ! -path 'usr/lib/systemd/*' -printf '%M %p ' -exec sha256sum {} \; | sort`, root)
	}
	armPlan, armFiles := made("arm64", emulator, packaged)
	plan, files := made("amd64", program.Agent(t))
	want(t, "plan and converge", armPlan, plan)
	want(t, "files", armFiles, files)
	if !strings.Contains(files, "opt/cni/bin/") {
		t.Errorf("no plugin is among them:\n%s", files)
	}
}
