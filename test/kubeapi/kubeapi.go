// Package kubeapi runs a real Kubernetes API server over a real etcd for tests, without
// controllers, scheduler and kubelets, unless a test starts them. It is for the tests of `make
// test-kubernetes` alone, because building the server takes minutes.
package kubeapi

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/pki"
)

// Options are the addresses at which the server listens.
type Options struct {
	Netns   string // path of a network namespace; default one of its own
	Address string // default 127.0.0.1
}

// Server is a running API server.
type Server struct {
	Endpoint  string         // https://10.77.0.1:6443, for who is in its namespace's network
	Here      string         // https://127.0.0.1:port, for this process
	Authority *pki.Authority // of the server and of all clients

	t       testing.TB
	netns   string
	address string
	dir     string
	admin   *http.Client
	process *child.Process
	command func() *exec.Cmd
}

const (
	port     = "6443"
	patience = 5 * time.Minute // far above what a busy machine takes: it only ends what hangs
	// Services is the range of the cluster's services.
	Services = "10.96.0.0/16"
	// ServiceAddress is the address at which pods reach the server. It is the first one of
	// Services, which the server gives to its own service.
	ServiceAddress = "10.96.0.1"
)

// Tier skips the test unless NETWRIGHT_KUBERNETES is set, and says how to run it. CI sets the
// variable.
func Tier(t testing.TB) {
	t.Helper()
	if os.Getenv("NETWRIGHT_KUBERNETES") == "" {
		t.Skip("needs a Kubernetes API server, which takes minutes to build: make test-kubernetes")
	}
	needs.Root(t)
}

// Start starts etcd and the API server, and waits until the server is ready. Both end with the
// test. If the test failed, their logs are shown.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	Tier(t)
	bin := filepath.Join(assets.Kubernetes(t), "kube-apiserver")
	if o.Address == "" {
		o.Address = "127.0.0.1"
	}
	if o.Netns == "" { // a port that was free on the machine's own may be taken before the server is there
		o.Netns = netns.New(t).Path()
	}
	store := etcd.Start(t, etcd.Options{Netns: o.Netns, Address: o.Address})
	s := &Server{t: t, netns: o.Netns, address: o.Address, dir: t.TempDir(), Authority: pki.New(t, "kubernetes-ca")}
	s.Endpoint = "https://" + net.JoinHostPort(o.Address, port)
	s.command = s.commandLine(bin, store)
	s.Up()
	t.Cleanup(func() {
		s.Down()
		if t.Failed() {
			out, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			t.Logf("kube-apiserver:\n%s", out[max(0, len(out)-6000):])
		}
	})
	s.Here = "https://" + s.forward()
	s.admin = s.client(s.Authority.Client("admin", "system:masters"))
	s.ready()
	return s
}

// commandLine is the server's, with its files written. Nobody dials kubelets through it unless a
// test brings one.
func (s *Server) commandLine(bin string, store *etcd.Server) func() *exec.Cmd {
	s.t.Helper()
	toStore, server := store.Authority.Client("kube-apiserver"), s.Authority.Server("kube-apiserver", s.address, "127.0.0.1", ServiceAddress, "kubernetes.default.svc")
	accounts := pki.New(s.t, "service-accounts").Client("tokens") // of which the key alone is used
	args := []string{
		"--etcd-servers=" + store.Endpoint, "--etcd-cafile=" + s.write("etcd-ca.crt", store.Authority.PEM),
		"--etcd-certfile=" + s.write("etcd.crt", toStore.Cert), "--etcd-keyfile=" + s.write("etcd.key", toStore.Key),
		"--bind-address=" + s.address, "--advertise-address=" + s.address, "--secure-port=" + port,
		"--tls-cert-file=" + s.write("server.crt", server.Cert), "--tls-private-key-file=" + s.write("server.key", server.Key),
		"--client-ca-file=" + s.write("ca.crt", s.Authority.PEM),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + s.write("accounts.crt", accounts.Cert),
		"--service-account-signing-key-file=" + s.write("accounts.key", accounts.Key), "--service-cluster-ip-range=" + Services,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none", "--kubelet-preferred-address-types=InternalIP", "--allow-privileged=true",
		"--kubelet-client-certificate=" + filepath.Join(s.dir, "server.crt"), "--kubelet-client-key=" + filepath.Join(s.dir, "server.key"),
		"--cert-dir=" + s.dir, "--shutdown-delay-duration=0s",
	}
	return func() *exec.Cmd {
		return exec.CommandContext(context.Background(), "nsenter", append([]string{"--net=" + s.netns, "--", bin}, args...)...)
	}
}

// Up starts the server again after [Server.Down]. Its objects are still in etcd.
func (s *Server) Up() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatalf("starting kube-apiserver: %v", err)
	}
	defer log.Close()
	cmd := s.command()
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, s.dir
	if s.process, err = child.Start(cmd); err != nil {
		s.t.Fatalf("starting kube-apiserver: %v", err)
	}
	if s.admin != nil {
		s.ready()
	}
}

// Down ends the server, as a crash does.
func (s *Server) Down() {
	s.t.Helper()
	s.process.Kill()
}

// ready waits until the server says so itself.
func (s *Server) ready() {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		code, body, err := s.Try("GET", "/readyz", "")
		if code == http.StatusOK {
			return
		}
		select {
		case <-s.process.Ended:
			s.t.Fatalf("kube-apiserver ended: %v", s.process.Err())
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("kube-apiserver is not ready: %d %s %v", code, body, err)
		}
	}
}

// write writes a file of the server's and returns its path.
func (s *Server) write(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatalf("writing kube-apiserver's files: %v", err)
	}
	return path
}
