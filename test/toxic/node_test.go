package toxic_test

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// name is the name of the server. The nodes find it in a hosts file of their own.
const name = "store.example.com"

// These are the files and texts of nodes that the tests look at.
const (
	conflist = "/etc/cni/net.d/05-netwright-bridge.conflist" // the file that drifts
	which    = "/etc/generation"                             // has the number of the generation in force
	secret   = "s3cr3t-of-the-store"                         // must never be shown
)

// machine is a node with its store. The released agent works on a root of its own, and the test
// acts as its systemd.
type machine struct {
	t       *testing.T
	dir     string // root, hosts, token …
	key     minisign.PrivateKey
	memory  *storetest.MapStore
	server  *toxic.Server
	shown   atomic.Pointer[tls.Certificate] // by the server
	token   atomic.Pointer[string]          // accepted by the server; nil: no token is needed
	ca      *pki.Authority
	manager *net.UnixConn
	cmd     *exec.Cmd

	mu   sync.Mutex
	said []string // to systemd, one text for each pass
	log  bytes.Buffer
}

// newMachine makes a node with a store, in S3 or on a server of files. The agent does not run yet.
func newMachine(t *testing.T, inS3 bool) *machine {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "unshare")
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, key: private, memory: new(storetest.MapStore), ca: pki.New(t, "store")}
	if m.dir, err = os.MkdirTemp("/tmp", "netwright-"); err != nil { // short: a socket's path may have 107 bytes (unix(7))
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(m.dir) })
	m.show(m.ca.Server(name, name))
	files, store := toxic.Files(m.memory), "https://%s:%s"
	if inS3 {
		files, store = toxic.Bucket("b", m.memory), "s3://b?endpoint=https://%s:%s"
	}
	m.server = toxic.New(t, m.guarded(files), &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return m.shown.Load(), nil }})
	_, port, _ := net.SplitHostPort(m.server.Listener.Addr().String())
	key, _ := public.MarshalText()
	// Go's resolver uses what it read in /etc/hosts for 5 s. A look, which comes up to a tenth
	// early, must come after that.
	m.write("agent.yaml", fmt.Sprintf("store: "+store+"\ncluster: %s\nnode: n\ninterval: 6s\nmetrics: off\nstoreCA: %s\ntrustedKeys: [%s]\n", name, port, storetest.Cluster, m.path("ca.pem"),
		bytes.Fields(key)[len(bytes.Fields(key))-1]))
	if !inS3 {
		m.write("agent.yaml", m.read("agent.yaml")+"storeTokenFile: "+m.path("token")+"\n")
	}
	m.write("ca.pem", m.ca.PEM)
	m.write("token", secret)
	m.write("hosts", "127.0.0.1 "+name+"\n")
	m.write("resolv.conf", "nameserver 127.0.0.254\noptions attempts:1 timeout:1\n")
	m.memory.Set("assets/plugins.tar", plugins)
	if m.manager, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path("notify"), Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	go m.listen()
	t.Cleanup(func() { m.manager.Close() })
	return m
}

// plugins is an archive with all that the bridge network needs.
var plugins = func() []byte {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"bridge", "host-local", "loopback", "portmap"} {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(name))}) // to memory
		_, _ = w.Write([]byte(name))
	}
	_ = w.Close()
	return archive.Bytes()
}()

// publish signs and publishes a generation, the manifest last.
func (m *machine) publish(to *storetest.MapStore, generation int64) {
	all := storetest.Publication(generation, map[string][]byte{
		"cluster.yaml": fmt.Appendf(nil, `apiVersion: netwright.dev/v1alpha1
kind: Cluster
metadata: {name: %s}
spec:
  kubernetesVersion: 1.36.0
  networking: {bridge: {}}
  fileAssets:
  - {name: generation, path: %s, content: "%d"}
  assets:
  - name: cni-plugins
    arch:
      %s: {sha256: %x, urls: [assets/plugins.tar]}
`, storetest.Cluster, which, generation, runtime.GOARCH, sha256.Sum256(plugins)),
		"nodes/n.yaml": []byte("apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec: {address: 10.0.0.1, podCIDRs: [100.96.1.0/24]}\n"),
	}, true)
	for name, data := range all {
		if name != "manifest" {
			to.Set(name, data)
		}
	}
	to.Set("manifest", trust.Join(all["manifest"], trust.Sign(m.key, all["manifest"], "")))
}

// show makes the server show this certificate from the next connection on, and ends all present
// connections.
func (m *machine) show(pair pki.Pair) {
	m.t.Helper()
	certificate, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key))
	if err != nil {
		m.t.Error(err)
		return
	}
	m.shown.Store(&certificate)
	if m.server != nil {
		m.server.CloseClientConnections()
	}
}

// guarded accepts only clients with the token.
func (m *machine) guarded(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := m.token.Load(); want != nil && r.Header.Get("Authorization") != "Bearer "+*want {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	})
}

// start boots the node: systemd starts the agent.
func (m *machine) start() {
	m.t.Helper()
	m.cmd = exec.Command("unshare", "--mount", "--", "/bin/sh", "-euc",
		`mount --bind "$1" /etc/hosts; mount --bind "$2" /etc/resolv.conf; shift 2; exec "$@"`, "sh", m.path("hosts"), m.path("resolv.conf"),
		program.Agent(m.t), "--conf", m.path("agent.yaml"), "--root", m.path("root"))
	m.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "NOTIFY_SOCKET=" + m.path("notify"), "GOTRACEBACK=all",
		"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null",
	}
	m.cmd.Stdout, m.cmd.Stderr = m, m
	if err := errors.Join(os.MkdirAll(m.path("root"), 0o755), m.cmd.Start()); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = m.cmd.Process.Kill() }) // already gone, unless the test failed
}

// stop shuts the node down.
func (m *machine) stop() {
	m.t.Helper()
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // if it is gone, Wait returns its result
	if err := m.cmd.Wait(); err != nil {
		m.t.Errorf("the agent ended with %v:\n%s", err, m.logged())
	}
}

// Write collects the agent's log.
func (m *machine) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.Write(p)
}

func (m *machine) logged() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

// listen receives what the agent says to systemd, until the test ends.
func (m *machine) listen() {
	buf := make([]byte, 64<<10)
	for {
		n, err := m.manager.Read(buf)
		if err != nil {
			return
		}
		if _, status, ok := strings.Cut(string(buf[:n]), "STATUS="); ok {
			m.mu.Lock()
			m.said = append(m.said, status)
			m.mu.Unlock()
		}
	}
}

// statuses returns the number of all texts, and how many of those from number since on contain
// text.
func (m *machine) statuses(since int, text string) (all, with int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, status := range m.said[min(since, len(m.said)):] {
		if strings.Contains(status, text) {
			with++
		}
	}
	return len(m.said), with
}

// await waits until a condition is true.
func (m *machine) await(what string, is func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) { // a limit for a hang
		if time.Now().After(deadline) {
			m.mu.Lock()
			said := strings.Join(m.said, "\n")
			m.mu.Unlock()
			m.t.Fatalf("never: %s\n%s\n%s", what, m.logged(), said)
		}
	}
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(m.path(name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// read returns the content of a file, "" if it is absent.
func (m *machine) read(name string) string {
	data, err := os.ReadFile(m.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Error(err)
	}
	return string(data)
}

// drift removes a file of the agent's.
func (m *machine) drift() {
	m.t.Helper()
	if err := os.Remove(m.path("root" + conflist)); err != nil {
		m.t.Error(err)
	}
}

// times returns the times of the node's files, except the file that drifts and the agent's ledger.
func (m *machine) times() map[string]time.Time {
	out := map[string]time.Time{}
	_ = filepath.WalkDir(m.path("root"), func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, m.path("root"))
		if err != nil || name == "/run" || name == "/var/lib/netwright" || name == "/tmp" {
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && name != conflist {
			out[name] = info.ModTime()
		}
		return nil
	})
	return out
}

// last returns the last text for systemd.
func (m *machine) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.said) == 0 {
		return ""
	}
	return m.said[len(m.said)-1]
}
