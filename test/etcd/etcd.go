// Package etcd runs a real etcd for tests. The etcd accepts only clients with a certificate of its
// own authority.
package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/pki"
)

// Options are the addresses at which etcd listens.
type Options struct {
	Netns   string // path of a network namespace; default one of its own, which nobody else reaches
	Address string // default 127.0.0.1
	// Authorities are those whose clients are let in; the first has signed the server's own
	// certificate. Default: a new one.
	Authorities []*pki.Authority
}

// Server is a running etcd.
type Server struct {
	Endpoint  string         // https://10.77.0.1:2379
	Authority *pki.Authority // of the server and of clients: Authority.Client("calico-client") is let in
	Ctl       string         // path of etcdctl, which runs anywhere

	t     testing.TB
	netns string
	dir   string
	log   string // path of what etcd writes to its error output
}

const patience = 3 * time.Minute // far above what a busy machine takes: it only ends what hangs

// Start starts etcd and waits until it answers. It ends with the test. If the test failed, its log
// is shown.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	bin := assets.Etcd(t)
	if o.Address == "" {
		o.Address = "127.0.0.1"
	}
	if o.Netns == "" { // a port that was free on the machine's own may be taken before etcd is there
		o.Netns = netns.New(t).Path()
	}
	if len(o.Authorities) == 0 {
		o.Authorities = []*pki.Authority{pki.New(t, "etcd-clients-ca")}
	}
	var trusted string
	for _, a := range o.Authorities {
		trusted += a.PEM
	}
	s := &Server{Authority: o.Authorities[0], Ctl: filepath.Join(bin, "etcdctl"), t: t, netns: o.Netns, dir: t.TempDir()}
	s.Endpoint = "https://" + net.JoinHostPort(o.Address, "2379")
	server := s.Authority.Server("etcd", o.Address)
	cert, key := s.write("server.crt", server.Cert), s.write("server.key", server.Key)
	ca := s.write("ca.crt", trusted)
	s.log = filepath.Join(s.dir, "log")
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatalf("starting etcd: %v", err)
	}
	defer log.Close()
	// Peers do not matter to a single member: a socket of its own instead of a port. No fsync: the
	// data dies with the test.
	peer := "unix://peer:0"
	cmd := s.command(context.Background(), filepath.Join(bin, "etcd"), "--name=lab", "--data-dir="+filepath.Join(s.dir, "data"), "--unsafe-no-fsync",
		"--listen-client-urls="+s.Endpoint, "--advertise-client-urls="+s.Endpoint, "--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer, "--initial-cluster=lab="+peer,
		"--cert-file="+cert, "--key-file="+key, "--client-cert-auth", "--trusted-ca-file="+ca)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	process, err := child.Start(cmd)
	if err != nil {
		t.Fatalf("starting etcd: %v", err)
	}
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			out, _ := os.ReadFile(s.log)
			t.Logf("etcd:\n%s", out[max(0, len(out)-4000):])
		}
	})
	s.await(process)
	return s
}

func (s *Server) await(process *child.Process) {
	s.t.Helper()
	me := s.Authority.Client("test")
	deadline := time.Now().Add(patience)
	for {
		err := s.Health(&me)
		if err == nil {
			return
		}
		select {
		case <-process.Ended:
			s.t.Fatalf("etcd ended: %v", process.Err())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("etcd does not answer: %v", err)
		}
	}
}

// Health asks the server for its health, over TLS, as the client of the given certificate (nil:
// without a certificate). A client that the server does not accept gets an error at once.
func (s *Server) Health(as *pki.Pair) error { return s.HealthBy(s.Authority.PEM, as) }

// HealthBy is [Server.Health] for a client that trusts these authorities, as PEM.
func (s *Server) HealthBy(trusted string, as *pki.Pair) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(trusted))
	config := &tls.Config{RootCAs: pool}
	if as != nil {
		pair, err := tls.X509KeyPair([]byte(as.Cert), []byte(as.Key))
		if err != nil {
			return fmt.Errorf("reading the client's certificate: %w", err)
		}
		// Not config.Certificates: those are held back from a server that asks for another
		// authority's.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	ask := func() error {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", strings.TrimPrefix(s.Endpoint, "https://"), config)
		if err != nil {
			return fmt.Errorf("connecting to etcd: %w", err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(conn, "GET /health HTTP/1.0\r\n\r\n"); err != nil {
			return fmt.Errorf("asking etcd: %w", err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil {
			return fmt.Errorf("hearing etcd: %w", err)
		}
		if !bytes.Contains(answer, []byte(`"health":"true"`)) {
			return fmt.Errorf("etcd is not well: %s", answer)
		}
		return nil
	}
	return netns.In(s.netns, ask)
}

// Refused waits until the server has logged that it refused a client for the given reason. With TLS
// 1.3 a client may send its request before it learns of the refusal. Then it sees an alert or a
// broken connection, so only the log of the server is certain.
func (s *Server) Refused(reason string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		out, err := os.ReadFile(s.log)
		if err != nil {
			s.t.Fatalf("reading etcd's log: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "rejected connection") && strings.Contains(line, reason) {
				return
			}
		}
		if time.Now().After(deadline) {
			s.t.Errorf("etcd has turned nobody away with %q", reason)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Do runs etcdctl as the client of the given certificate, in the server's network namespace, and
// returns its whole output. A client that the server does not accept waits for a timeout: use
// Health for such a client.
func (s *Server) Do(ctx context.Context, as pki.Pair, args ...string) (string, error) {
	s.t.Helper()
	all := []string{"--endpoints=" + s.Endpoint, "--cacert=" + filepath.Join(s.dir, "ca.crt"), "--command-timeout=" + patience.String(),
		"--cert=" + s.write("client.crt", as.Cert), "--key=" + s.write("client.key", as.Key)}
	var out bytes.Buffer
	cmd := s.command(ctx, s.Ctl, append(all, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("etcdctl: %w", err)
	}
	return out.String(), nil
}

// write writes a file beside the server's own and returns its path.
func (s *Server) write(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatalf("writing etcd's files: %v", err)
	}
	return path
}

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + s.netns, "--", name}, args...)...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3", "no_proxy=*")
	return cmd
}
