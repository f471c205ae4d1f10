package torture

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/netwright/netwright/systemd"
	"github.com/netwright/netwright/test/program"
)

// member is an entry of a hostile archive.
type member struct {
	name, link string
	kind       byte
	size       int64 // of zeros
}

func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, m := range append([]member{{name: "./bridge", size: 10}, {name: "./host-local", size: 10}, {name: "./loopback", size: 10}}, members...) {
		kind := m.kind
		if kind == 0 {
			kind = tar.TypeReg
		}
		if err := w.WriteHeader(&tar.Header{Name: m.name, Linkname: m.link, Typeflag: kind, Mode: 0o755, Size: m.size}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeros{}, m.size); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Archives and servers attack the agent. The agent reports the fault in one error, installs
// nothing, leaves no other file, and its memory stays small. The hash of each archive is right, so
// only the last check can refuse it.
//
// What keeps it: pkg/archive/archive.go entry, pkg/archive/decompress.go Read (of inflated),
// pkg/archive/compressed_source.go Read (of source) and verdict.
func TestHostileAssets(t *testing.T) {
	t.Parallel()
	serve := func(body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }
	}
	type attack struct {
		name    string
		body    []byte           // served unchanged, with its own hash
		handler http.HandlerFunc // or this, with the hash of an empty body
		says    string
		long    bool // only in the full run
	}
	attacks := []attack{
		{name: "entry with ..", body: archive(t, member{name: "../../etc/evil", size: 1}), says: "leads out"},
		{name: "absolute entry", body: archive(t, member{name: "/etc/evil", size: 1}), says: "leads out"},
		{name: "symlink", body: archive(t, member{name: "portmap", kind: tar.TypeSymlink, link: "/bin/sh"}), says: "link or device"},
		{name: "hard link", body: archive(t, member{name: "portmap", kind: tar.TypeLink, link: "../../etc/passwd"}), says: "link or device"},
		{name: "device", body: archive(t, member{name: "portmap", kind: tar.TypeBlock}), says: "link or device"},
		{name: "bomb", body: archive(t, member{name: "portmap", size: 512 << 20}), says: "times its size"},
		{name: "garbage", body: bytes.Repeat([]byte("not an archive "), 1000), says: "no tar archive"},
		{name: "half", body: archive(t, member{name: "portmap", size: 10})[:90], says: "damaged"},
		{name: "nothing", handler: serve(nil), says: "sha256"},
		{name: "other bytes", handler: serve(archive(t, member{name: "portmap", size: 10})), says: "sha256"},
		{name: "not found", handler: http.NotFound, says: "404"},
		{name: "redirects for ever", handler: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, says: "redirect"},
		{name: "cut off", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 5000))
			panic(http.ErrAbortHandler)
		}, says: "gave up"},
		{name: "never ends", handler: func(w http.ResponseWriter, r *http.Request) {
			for block := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, says: "larger than", long: true},
		{name: "hangs", handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, says: "gave up", long: true},
	}
	tried, lost := 0, 0
	for _, a := range attacks {
		if a.long && !full {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			tried++
			sum := sha256.Sum256([]byte("something else"))
			if a.handler == nil {
				a.handler, sum = serve(a.body), sha256.Sum256(a.body)
			}
			server := httptest.NewServer(a.handler)
			defer server.Close()
			if broken := attacked(t, server.URL, fmt.Sprintf("%x", sum), a.says); len(broken) > 0 {
				lost++
				t.Error(strings.Join(broken, "\n"))
			}
		})
	}
	report(t, "hostile archives and servers", tried, lost, "memory below %d MB each", mostMemory)
}

// Files attack the agent. The agent reports the fault in one line, and its memory stays small. Its
// documents come from any person with its store, and a conf from any pod with its directory.
//
// What keeps it: pkg/config/document/document.go checkIndicators, pkg/tasks/cni_conf_file.go
// readConf.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	usual := baseSpec + "  networking:\n    cni: {}\n"
	for _, a := range []struct{ name, cluster, conf, says string }{
		{name: "signs", cluster: document("Cluster", cluster, usual) + strings.Repeat("&", 2<<20-1000), says: "lines and signs of YAML"},
		{name: "anchors", cluster: document("Cluster", cluster, usual) + strings.Repeat("&a ", 79_000), says: "not valid YAML"},
		{name: "flow", cluster: document("Cluster", cluster, usual) + "  x: [" + strings.Repeat("a: b,", 39_000), says: "not valid YAML"},
		{name: "large conf", cluster: document("Cluster", cluster, usual), conf: "truncate -s 63M etc/cni/net.d/00-a.conf", says: "more than the 2097152 bytes that containerd reads"},
		{name: "link to a large conf", cluster: document("Cluster", cluster, usual), conf: "truncate -s 63M etc/large; ln -s ../../large etc/cni/net.d/00-a.conf", says: "more than the 2097152 bytes that containerd reads"},
	} {
		t.Run(a.name, func(t *testing.T) {
			d := nodeDocuments(t, "v1", usual)
			d["cluster.yaml"] = a.cluster
			i := image{agent(t), t.TempDir(), t.TempDir()}
			d.write(t, i.store)
			make := exec.CommandContext(t.Context(), "/bin/sh", "-euc", "mkdir -p etc/cni/net.d; "+a.conf)
			make.Dir = i.root
			if out, err := make.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			run := launch(t, i.command()) // it reports this, whether or not that is why it fails
			if !strings.Contains(run.out, a.says) {
				t.Errorf("it does not say %q:\n%s", a.says, run.out)
			}
			if t.Logf("%d MB of memory", run.memory); run.memory > mostMemory {
				t.Errorf("it took %d MB of memory", run.memory)
			}
		})
	}
}

// The largest legal store, of 5000 nodes and as many files, is read within the memory that the
// daemon's unit allows.
//
// What keeps it: systemd/netwright-agent.service MemoryMax.
func TestTheLargestIsTaken(t *testing.T) {
	t.Parallel()
	const many = 5000
	spec := "  kubernetesVersion: 1.36.0\n  podCIDR: 100.64.0.0/10\n  nonMasqueradeCIDR: 100.64.0.0/10\n  networking:\n    bridge: {}\n"
	d := nodeDocuments(t, "v1", spec)
	files := "  fileAssets:\n"
	for i := range many {
		name := fmt.Sprintf("node-%d", i+1)
		d["nodes/"+name+".yaml"] = document("Node", name, fmt.Sprintf("  nodeGroup: nodes\n  address: 10.77.%d.%d\n  podCIDRs: [100.%d.%d.0/24]\n", i>>8+1, i&255, i>>8+64, i&255))
		files += fmt.Sprintf("  - {name: f%d, path: /etc/many/f%[1]d, content: ours}\n", i)
	}
	d["cluster.yaml"] += files
	i := image{agent(t), t.TempDir(), t.TempDir()}
	d.write(t, i.store)
	run := launch(t, i.command())
	made, err := os.ReadDir(i.root + "/etc/many")
	if run.code != 0 || err != nil || len(made) != many {
		t.Errorf("exit %d, %d files: %v\n%.2000s", run.code, len(made), err, run.out)
	}
	allowed := regexp.MustCompile(`(?m)^MemoryMax=(\d+)M$`).FindStringSubmatch(systemd.Agent)
	if allowed == nil {
		t.Fatal("the unit has no bound")
	}
	if most, _ := strconv.ParseInt(allowed[1], 10, 64); run.memory > most {
		t.Errorf("it took %d MB of memory, and the unit allows %d", run.memory, most)
	}
	t.Logf("%d MB of memory", run.memory)
}

// mostMemory is the most memory for any hostile input, in MB: 96 more than an idle agent has.
const mostMemory = 132

// launched is the result of a run of the agent.
type launched struct {
	out    string
	code   int
	memory int64 // its largest amount, in MB
}

// launch runs a command from a small program, since the kernel also counts the memory of the
// process that forks.
func launch(t testing.TB, command []string) launched {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	line, err := exec.CommandContext(t.Context(), program.Build(t, "bench/launch"), append([]string{log}, command...)...).Output()
	var cost struct {
		Peak int64 `json:"peak"` // KiB
		Code int   `json:"code"`
	}
	if err = errors.Join(err, json.Unmarshal(line, &cost)); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if cost.Peak == 0 {
		t.Fatalf("the agent's memory is not known: %s", line)
	}
	out, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return launched{string(out), cost.Code, cost.Peak >> 10}
}

// attacked runs the agent with a server, and returns the broken promises.
func attacked(t testing.TB, url, sum, says string) (broken []string) {
	t.Helper()
	d := nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n")
	spec := fmt.Sprintf("  assets:\n  - name: cni-plugins\n    arch:\n      %s:\n        sha256: %s\n        urls: [%s/plugins.tgz]\n", runtime.GOARCH, sum, url)
	d["cluster.yaml"] = document("Cluster", cluster, baseSpec+"  networking:\n    bridge: {}\n"+spec)
	i := image{agent(t), t.TempDir(), t.TempDir()}
	d.write(t, i.store)
	run := launch(t, i.command())
	if run.code != 1 || !strings.Contains(run.out, says) {
		broken = append(broken, fmt.Sprintf("exit %d, want 1 and %q:\n%s", run.code, says, run.out))
	}
	if t.Logf("%d MB of memory", run.memory); run.memory > mostMemory {
		broken = append(broken, fmt.Sprintf("it took %d MB of memory", run.memory))
	}
	for path, is := range i.tree(t) {
		if strings.Contains(path, "evil") || strings.HasPrefix(path, "/opt/cni/bin/") || staged.MatchString(path) || strings.Contains(path, "/assets/") {
			broken = append(broken, "made: "+path+" "+is)
		}
	}
	if _, err := os.Stat(i.root + "/etc/cni/net.d/05-netwright-bridge.conflist"); err == nil {
		broken = append(broken, "a conf without its programs")
	}
	return broken
}
