package witness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/witness/bulk"
)

// Where the witness asks from: a machine beyond the nodes' gateway, and one on their link. No
// document names either, nor a network around an address that it names.
const (
	beyond4, beyond6 = "198.51.100.9", "3fff::9"
	onLink4, onLink6 = "10.77.0.254", "fd00:77::fe"
)

const (
	sampleEach  = 500 * time.Millisecond
	sampleLimit = time.Second     // for an answer
	bulkLimit   = 5 * time.Second // for 1 MiB each way, on a busy machine
)

// sight is a capability of the node, and an attempt at it.
type sight struct {
	name string
	try  func(*Watch) error
}

// sights are what a node is for.
var sights = []sight{
	{"ssh", (*Watch).ssh},
	{"10250 from the link", echo(onLink4, node4, "10250")},
	{"10250 from beyond the gateway", echo(beyond4, node4, "10250")},
	{"IPv6 from the link", echo(onLink6, node6, "10250")},
	{beyondIPv6, echo(beyond6, node6, "10250")},
	{"1 MiB each way", (*Watch).bulk},
	{"pod", (*Watch).pod},
	{"names", (*Watch).names},
	{"API server", (*Watch).api},
}

const beyondIPv6 = "IPv6 from beyond the gateway"

// Watch looks at one node from outside, every half second, each capability by itself.
type Watch struct {
	fabric string // network namespaces, as paths
	node   string
	read   readFile
	now    func() time.Time // see [Clock]

	cancel context.CancelCauseFunc
	tries  sync.WaitGroup
	mu     sync.Mutex
	seen   map[string]*seen
}

// readFile reads a file of the node, without its network.
type readFile func(path string) ([]byte, error)

// seen is what was seen of one capability.
type seen struct {
	last    time.Time     // when it last worked, or was first asked
	worked  bool          // ever
	failing bool          // the last attempt failed
	row     int           // how often it worked without a break, since [Watch.Await] began
	gap     time.Duration // the longest in which it did not work
	err     error         // of the last attempt that failed
}

// NewWatch begins to look. Stop ends it, and comes before the node's end.
func NewWatch(ctx context.Context, fabric, node string, read readFile, now func() time.Time) *Watch {
	w := &Watch{fabric: fabric, node: node, read: read, now: now, seen: map[string]*seen{}}
	ctx, w.cancel = context.WithCancelCause(ctx)
	for _, s := range sights {
		w.seen[s.name] = &seen{last: now()} // the map stands still once the first looks
	}
	for _, s := range sights {
		w.tries.Go(func() {
			for ctx.Err() == nil {
				begun := now()
				w.note(s.name, begun, s.try(w))
				select {
				case <-ctx.Done():
				case <-time.After(sampleEach - min(sampleEach, now().Sub(begun))):
				}
			}
		})
	}
	return w
}

// Stop ends the looking.
func (w *Watch) Stop() {
	w.cancel(errors.New("the witness looks no more"))
	w.tries.Wait()
}

// note takes in an attempt. A gap is the time between two that worked, if one between them did not.
func (w *Watch) note(name string, begun time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[name]
	if err != nil {
		s.row, s.failing, s.err = 0, true, err
		return
	}
	if s.failing && s.worked {
		s.gap = max(s.gap, begun.Sub(s.last))
	}
	s.worked, s.failing, s.last = true, false, w.now()
	s.row++
}

// Await waits until capabilities work, each twice in a row from now on. It says which do not,
// and why, when one did not for longer than the limit since it last did.
func (w *Watch) Await(ctx context.Context, names []string, limit time.Duration) (lost []string) {
	w.mu.Lock()
	for _, s := range w.seen {
		s.row = 0
	}
	w.mu.Unlock()
	for {
		lost = lost[:0]
		working, over := true, false
		w.mu.Lock()
		for _, name := range names {
			if s := w.seen[name]; s.row < 2 {
				working = false
				if w.now().Sub(s.last) > limit {
					over = true
				}
				lost = append(lost, fmt.Sprintf("%s (%v)", name, s.err))
			}
		}
		w.mu.Unlock()
		if working {
			return nil
		}
		if over || ctx.Err() != nil {
			return lost
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Gap is the longest time in which one of the capabilities did not work, and which.
func (w *Watch) Gap(names []string) (longest time.Duration, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range names {
		s, gap := w.seen[n], w.seen[n].gap
		if s.failing {
			gap = max(gap, w.now().Sub(s.last))
		}
		if gap > longest {
			longest, name = gap, n
		}
	}
	return longest, name
}

// Names are all capabilities but those left out.
func Names(without ...string) (names []string) {
	for _, s := range sights {
		if !slices.Contains(without, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// dial connects, from an address of the fabric.
func (w *Watch) dial(from, to, port string, limit time.Duration) (conn net.Conn, err error) {
	err = netns.In(w.fabric, func() error {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: sampleLimit}
		conn, err = d.Dial("tcp", net.JoinHostPort(to, port))
		return err
	})
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(limit))
}

func (w *Watch) ssh() error {
	conn, err := w.dial(beyond4, node4, "22", sampleLimit)
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is kept
	banner := make([]byte, 4)
	if _, err := io.ReadFull(conn, banner); err != nil {
		return err
	}
	if string(banner) != "SSH-" {
		return fmt.Errorf("it says %q", banner)
	}
	return nil
}

func echo(from, to, port string) func(*Watch) error {
	return func(w *Watch) error { return w.echo(from, to, port) }
}

func (w *Watch) echo(from, to, port string) error {
	conn, err := w.dial(from, to, port, sampleLimit)
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is kept
	if _, err := conn.Write([]byte("e")); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

// bulk sends 1 MiB and gets 1 MiB, whole.
func (w *Watch) bulk() error {
	conn, err := w.dial(beyond4, node4, "10250", bulkLimit)
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is kept
	if _, err := conn.Write(append([]byte("b"), bulk.Bytes()...)); err != nil {
		return err
	}
	got := make([]byte, len(bulkAnswer))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !bytes.Equal(got, bulkAnswer) {
		return errors.New("other bytes came than were sent")
	}
	return nil
}

// bulkAnswer is what a peer answers who got all bytes as they were sent.
var bulkAnswer = func() []byte {
	sum := sha256.Sum256(bulk.Bytes())
	return append(sum[:], bulk.Bytes()...)
}()

// podFile is what the plugins said of the node's pod.
const podFile = "/run/pod"

func (w *Watch) pod() error {
	data, err := w.read(podFile)
	if err != nil {
		return err
	}
	var answer struct {
		IPs []struct{ Address netip.Prefix }
	}
	if err := json.Unmarshal(data, &answer); err != nil || len(answer.IPs) == 0 {
		return fmt.Errorf("the pod has no address: %w", errors.Join(err, errors.New(string(data))))
	}
	return w.echo(onLink4, answer.IPs[0].Address.Addr().String(), "8080")
}

// names asks the name servers of the node from where it is, as its resolver does: one answers.
func (w *Watch) names() error {
	conf, err := w.read("/etc/resolv.conf")
	if err != nil {
		return err
	}
	err = errors.New("no name server is named")
	for line := range strings.Lines(string(conf)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			if err = w.resolve(f[1]); err == nil {
				return nil
			}
		}
	}
	return err
}

// kubeconfig is where kubelet's is.
const kubeconfig = "/var/lib/kubelet/kubeconfig"

// api gets a whole answer of the API server from where the node is, as kubelet does: over a
// connection that the node begins, and which has the buffers of now.
func (w *Watch) api() error {
	conf, err := w.read(kubeconfig)
	if err != nil {
		return err
	}
	_, server, _ := strings.Cut(string(conf), "server: ")
	ctx, cancel := context.WithTimeoutCause(context.Background(), bulkLimit, fmt.Errorf("no whole answer in %s", bulkLimit))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(server), http.NoBody)
	if err != nil {
		return err
	}
	client := http.Transport{
		DialContext: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
			err = netns.In(w.node, func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
				return err
			})
			return conn, err
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}
	answer, err := client.RoundTrip(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close() // nothing is kept
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// resolve asks one server for a name that nobody has asked for (RFC 1035 4.1).
func (w *Watch) resolve(server string) error {
	var conn net.Conn
	err := netns.In(w.node, func() (err error) {
		conn, err = net.DialTimeout("udp", net.JoinHostPort(server, "53"), sampleLimit)
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is kept
	if err := conn.SetDeadline(time.Now().Add(sampleLimit)); err != nil {
		return err
	}
	label := fmt.Sprintf("%08x", rand.Uint32())
	question := binary.BigEndian.AppendUint16(nil, uint16(rand.Uint32()))
	question = append(question, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, byte(len(label)))
	question = append(question, label...)
	question = append(question, 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1)
	if _, err := conn.Write(question); err != nil {
		return err
	}
	answer := make([]byte, 512)
	n, err := conn.Read(answer)
	if err == nil && (n < 12 || !bytes.Equal(answer[:2], question[:2]) || answer[2]&0x80 == 0) {
		err = errors.New("no answer to the question")
	}
	return err
}
