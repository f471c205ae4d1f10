package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/disk"
)

// running starts a program of the test, which runs until the test ends.
func running(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // its result at the end of its input does not matter
	})
	if _, err := out.Read(make([]byte, 1)); err != nil { // now it runs
		t.Fatal(err)
	}
}

func TestWritersAreNamed(t *testing.T) {
	view, err := OpenView(t.Context(), Options{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	dir := t.TempDir()
	open, script := filepath.Join(dir, "open.conf"), filepath.Join(dir, "fight.sh")
	if err := os.WriteFile(script, []byte("# sysctl -w net.ipv4.conf.by_script.rp_filter=0\necho up\nread end\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	running(t, "sh", script)
	running(t, "sh", "-c", "exec 3>>"+open+"; echo up; read end")
	running(t, "sh", "-c", "echo up; read end; : ip route del 192.0.2.0/24 dev nw-none")
	running(t, "sh", "-c", "echo up; read end; : > /proc/sys/net/ipv4/conf/by_path/rp_filter")

	things := map[string]string{
		"net.ipv4.conf.by_script.rp_filter": "probably ", "net.ipv4.conf.by_path.rp_filter": "probably ", "route 192.0.2.0/24": "probably ",
		open: "sh, process ", "net.ipv4.conf.by_nobody.rp_" + "filter": "",
	}
	var list []string
	for thing := range things {
		list = append(list, thing)
	}
	found := view.Writers(t.Context(), list)
	for thing, want := range things {
		if got := found[thing].Text; want == "" && got != "" || want != "" && (!strings.Contains(got, "sh, process ") || !strings.Contains(got, strings.TrimSuffix(want, "sh, process "))) {
			t.Errorf("%s: %q, want %q", thing, got, want)
		}
	}
	if who := found[open].Text; strings.HasPrefix(who, "probably") || !strings.HasSuffix(who, "has it open") {
		t.Errorf("the writers are %q", who)
	}
}

// A process whose command names a file of a file system that does not answer, as on NFS without its
// server, does not delay the pass, and the next search begins when that one has ended.
func TestWritersDoNotWaitForAFileSystem(t *testing.T) {
	hung := disk.Hung(t)
	view, err := OpenView(t.Context(), Options{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	running(t, "sh", "-c", "echo up; read end", hung+"/script")
	ended := make(chan map[string]Writer)
	go func() {
		for range 2 {
			ended <- view.Writers(t.Context(), []string{"net.ipv4.conf.by_nobody.rp_" + "filter"})
		}
	}()
	for range 2 {
		select {
		case found := <-ended:
			if len(found) > 0 {
				t.Errorf("Writers returns %v", found)
			}
		case <-time.After(time.Minute):
			t.Fatal("Writers waits for the file system")
		}
	}
}

// Who swaps a script for a pipe does not stop the search.
func TestScriptsThatArePipes(t *testing.T) {
	dir := t.TempDir()
	script, pipe := filepath.Join(dir, "script"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(script, []byte("net.ipv4.ip_forward"), 0o600), unix.Mkfifo(pipe, 0o600),
		os.Symlink("/", filepath.Join(dir, "root")), os.WriteFile(filepath.Join(dir, "cmdline"), []byte("sh\x00"+script+"\x00"), 0o600)); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, script, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE)
			}
		}
	}()
	searched := make(chan int)
	go func() {
		named := 0
		for range 3000 {
			if commandNames(dir, "net.ipv4.ip_forward") {
				named++
			}
		}
		searched <- named
	}()
	select {
	case named := <-searched:
		if named == 0 {
			t.Error("the script was never read")
		}
	case <-time.After(time.Minute):
		t.Error("commandNames waits for the pipe")
	}
	close(stop)
	<-stopped
}

func TestContainerOfAGroup(t *testing.T) {
	id := strings.Repeat("ab", 32)
	group := "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope"
	if m := containerOf().FindStringSubmatch(group); m == nil || m[1] != id {
		t.Errorf("%s: FindStringSubmatch returns %v", group, m)
	}
}

// A process that only searches for a key, or reads it, is no writer of that key.
func TestReadersAreNoWriters(t *testing.T) {
	for command, want := range map[string]bool{
		"grep -r net.ipv4.ip_forward /etc": false, "sysctl net.ipv4.ip_forward": false, "/usr/sbin/sysctl -n net.ipv4.ip_forward": false, "tail -f net.ipv4.ip_forward": false,
		"sysctl -w net.ipv4.ip_forward=0": true, "sysctl net.ipv4.ip_forward=0": true, "sysctl -qw net.ipv4.ip_forward=0": true, "sysctl --pattern net.ipv4.ip_forward --system": true,
		"sh -c sysctl net.ipv4.ip_forward=0": true, "sed -i s/net.ipv4.ip_forward/x/ /etc/sysctl.conf": true, "vendor-agent --pin net/ipv4/ip_forward": true,
	} {
		proc := t.TempDir()
		if err := os.WriteFile(filepath.Join(proc, "cmdline"), []byte(strings.ReplaceAll(command, " ", "\x00")+"\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := commandNames(proc, "net.ipv4.ip_forward"); got != want {
			t.Errorf("%s: commandNames returns %v, want %v", command, got, want)
		}
	}
}
