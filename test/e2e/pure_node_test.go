package e2e

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// A dry run in a node asks systemd and a container runtime. The test looks at each of these
// requests, too. A request to systemd only reads and starts no program (the flag quiet in
// pkg/host/systemd/bus.go). The requests to the runtime ask for its version and its status.
func TestDryRunInANodeMakesNoCallThatWrites(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "a dry run must never write")
	needs.Tool(t, "strace", "nsenter")
	// kubenet restarts containerd, and so asks systemd for a unit. Its asset is at no server, since
	// a dry run does not fetch it.
	s := exampleStore(t, "kubenet", "10.77.0.11", "http://10.77.0.1/nowhere", strings.Repeat("ab", 32))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	leader := strings.Split(n.Netns(), "/")[2]
	trace := filepath.Join(t.TempDir(), "trace")
	out, err := exec.Command("strace", "-f", "-qq", "-x", "-s", "65536", "-o", trace,
		"nsenter", "--target", leader, "--all", "--root", "--wd", "/usr/bin/netwright", "--dry-run").CombinedOutput()
	var exited *exec.ExitError
	if !errors.As(err, &exited) || exited.ExitCode() != 2 {
		t.Fatalf("%v, want exit 2\n%s", err, out)
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := bytes.Cut(data, []byte(`execve("/usr/bin/netwright"`))
	if !found || len(bytes.Split(after, []byte("\n"))) < 300 {
		t.Fatalf("nothing was traced:\n%s", before)
	}
	asked := questions(t, strings.Split(string(after), "\n")[1:])
	if !slices.ContainsFunc(asked, func(q string) bool { return strings.HasPrefix(q, "systemd ") }) || !slices.Contains(asked, "runtime Status") {
		t.Errorf("neither systemd nor the runtime was asked: %v", asked)
	}
	for _, q := range asked {
		if !slices.Contains([]string{"systemd GetAll", "systemd Get", "systemd GetUnit", "systemd GetUnitFileState", "runtime Status", "runtime Version"}, q) {
			t.Errorf("a dry run asked the %s", q)
		}
	}
}

var (
	connected = regexp.MustCompile(`^connect\((\d+), \{sa_family=AF_UNIX, sun_path="([^"]+)"`)
	sent      = regexp.MustCompile(`^(?:write|sendto|sendmsg|writev)\((\d+), (.*)`)
	bytesOf   = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})+)"`)
	members   = regexp.MustCompile(`\x03\x01s\x00.\x00\x00\x00(\w+)\x00`)
)

// questions checks all calls as [checkCalls] does, except the requests to systemd and to the
// runtime. It returns a line for each of these.
func questions(t *testing.T, lines []string) (asked []string) {
	t.Helper()
	peers, streams := map[string]string{}, map[string][]byte{}
	var rest []string
	for _, line := range lines {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		call = strings.TrimSpace(call)
		if m := connected.FindStringSubmatch(call); m != nil {
			peers[m[1]] = m[2]
		}
		m := sent.FindStringSubmatch(call)
		if m == nil || peers[m[1]] == "" {
			if m := regexp.MustCompile(`^close\((\d+)\)`).FindStringSubmatch(call); m != nil {
				delete(peers, m[1])
			}
			rest = append(rest, line)
			continue
		}
		if quoted := bytesOf.FindStringSubmatch(m[2]); quoted != nil {
			raw, err := hex.DecodeString(strings.ReplaceAll(quoted[1], `\x`, ""))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(peers[m[1]], "containerd.sock") {
				streams[m[1]] = append(streams[m[1]], raw...)
				continue
			}
			// The bytes are byte order, type and flags:
			// https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol.
			if raw[0] != 'l' || raw[1] != 1 {
				continue // text of the authentication
			}
			if raw[2]&2 == 0 {
				t.Errorf("a message to %s may start who does not run: %q", peers[m[1]], raw)
			}
			for _, member := range members.FindAllSubmatch(raw, -1) {
				asked = append(asked, "systemd "+string(member[1]))
			}
		}
	}
	for _, stream := range streams {
		asked = append(asked, calls(t, stream)...)
	}
	checkCalls(t, rest)
	return asked
}

// calls returns the methods that a gRPC client called.
func calls(t *testing.T, stream []byte) (out []string) {
	t.Helper()
	framer := http2.NewFramer(nil, bytes.NewReader(bytes.TrimPrefix(stream, []byte(http2.ClientPreface))))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return out
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			path := headers.PseudoValue("path")
			out = append(out, "runtime "+path[strings.LastIndexByte(path, '/')+1:])
		}
	}
}
