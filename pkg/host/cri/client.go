package cri

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// criTimeout limits how long a pass waits for a container runtime. A runtime on a busy node that
// has just booted is only slow.
const criTimeout = 3 * time.Second

// Status is what a runtime reports about itself and its network.
type Status struct {
	Name, Version string
	NetworkReady  *bool
	NetworkReason string
	Info          map[string]string // JSON texts, by the runtime's own keys; "toml": CRI-O's configuration
}

// askCRI asks a container runtime for its version and status, by gRPC over net/http: two calls with
// two fields each. With grpc-go and cri-api the program would be 6 MB larger and start 1.7 ms
// later.
func askCRI(ctx context.Context, socket string, limit time.Duration) (Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("the runtime at %s did not answer within %s", socket, limit))
	defer cancel()
	c, done := dialCRI(socket)
	defer done()
	version, err := c.call(ctx, "Version", nil)
	if err != nil {
		return Status{}, fmt.Errorf("ask the runtime at %s for its version: %w", socket, servesNone(err))
	}
	status, err := c.call(ctx, "Status", []byte{1 << 3, 1}) // verbose = true
	if err != nil {
		return Status{}, fmt.Errorf("ask the runtime at %s for its status: %w", socket, err)
	}
	out, err := statusOf(version, status)
	if err != nil {
		return Status{}, fmt.Errorf("read the status of the runtime at %s: %w", socket, err)
	}
	if out.Name == "cri-o" {
		out.Info["toml"] = c.configOfCRIO(ctx)
	}
	return out, nil
}

// configOfCRIO returns the configuration with which CRI-O runs, as `crio status config` prints it;
// "" if CRI-O does not say. CRI-O reads its files when it starts, and never again. It serves HTTP
// beside gRPC at its socket.
// https://github.com/cri-o/cri-o/blob/v1.36.1/server/inspect.go (InspectConfigEndpoint)
func (c *criClient) configOfCRIO(ctx context.Context) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/config", nil)
	if err != nil {
		return ""
	}
	transport := &http.Transport{DialContext: c.transport.DialContext, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}

// statusOf decodes a VersionResponse and a StatusResponse (k8s.io/cri-api,
// pkg/apis/runtime/v1/api.proto).
func statusOf(version, status []byte) (Status, error) {
	var d decoder
	out := Status{Name: d.text(version, 2), Version: d.text(version, 3), Info: map[string]string{}}
	for _, c := range d.at(status, 1, 1) { // RuntimeCondition
		if d.text(c, 1) == "NetworkReady" {
			out.NetworkReady, out.NetworkReason = new(d.number(c, 2) != 0), cmp.Or(d.text(c, 4), d.text(c, 3))
		}
	}
	for _, entry := range d.at(status, 2) {
		out.Info[d.text(entry, 1)] = d.text(entry, 2)
	}
	return out, d.err
}

// criClient calls methods of the runtime service.
type criClient struct {
	transport *http.Transport
	service   string
}

// The names of the runtime service in the versions of CRI.
const (
	criV1    = "/runtime.v1.RuntimeService/"
	criAlpha = "/runtime.v1alpha2.RuntimeService/" // containerd before 1.6, CRI-O before 1.23
)

// dialCRI returns a client of the runtime at a socket. It connects at the first call. The caller
// must call done at the end.
func dialCRI(socket string) (c *criClient, done func()) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	var dialer net.Dialer
	transport := &http.Transport{
		Protocols: &protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
	}
	return &criClient{transport: transport, service: criV1}, transport.CloseIdleConnections
}

// errNoSandbox is gRPC's NotFound.
var errNoSandbox = errors.New("the runtime knows no such pod")

// ErrUnimplemented reports a socket at which nothing serves CRI, or only another version of it.
var ErrUnimplemented = errors.New("it does not serve this version of CRI")

// servesNone adds the likely cause to the error of a runtime that supports no version of CRI.
func servesNone(err error) error {
	if !errors.Is(err, ErrUnimplemented) {
		return err
	}
	return fmt.Errorf("%w, nor another: containerd's plugin cri is switched off (disabled_plugins in its "+
		"configuration) or did not start "+
		"(`ctr plugins ls`, `journalctl -u containerd`)", ErrUnimplemented)
}

// call calls a method of the version of CRI that the runtime supports, and remembers that version.
func (c *criClient) call(ctx context.Context, method string, message []byte) ([]byte, error) {
	answer, err := c.unary(ctx, method, message)
	if errors.Is(err, ErrUnimplemented) && c.service == criV1 {
		c.service = criAlpha
		return c.unary(ctx, method, message)
	}
	return answer, err
}

// unary makes one unary gRPC call (grpc/doc/PROTOCOL-HTTP2.md).
func (c *criClient) unary(ctx context.Context, method string, message []byte) ([]byte, error) {
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+c.service+method,
		bytes.NewReader(frame))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, sys.Cause(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return nil, sys.Cause(ctx, err)
	}
	code := response.Trailer.Get("Grpc-Status")
	text := response.Trailer.Get("Grpc-Message")
	if code == "" { // an error may come as headers without trailers
		code, text = response.Header.Get("Grpc-Status"), response.Header.Get("Grpc-Message")
	}
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	switch {
	case code == "12":
		return nil, fmt.Errorf("%w: %s", ErrUnimplemented, text)
	case code == "5":
		return nil, fmt.Errorf("%w: %s", errNoSandbox, text)
	case code != "0":
		return nil, fmt.Errorf("it answered HTTP %d, gRPC code %q: %s", response.StatusCode, code, text)
	case len(body) < 5 || body[0] != 0 || uint64(len(body)-5) != uint64(binary.BigEndian.Uint32(body[1:])):
		return nil, errors.New("its answer is not a single uncompressed message")
	}
	return body[5:], nil
}

// decoder decodes fields of protobuf messages. Its err is the first error of all reads.
type decoder struct{ err error }

// at returns the messages and texts at a path of field numbers.
func (d *decoder) at(message []byte, fields ...int) [][]byte {
	found := [][]byte{message}
	for _, field := range fields {
		var below [][]byte
		for _, one := range found {
			d.err = cmp.Or(d.err, eachField(one, func(f int, _ uint64, data []byte) {
				if f == field {
					below = append(below, data)
				}
			}))
		}
		found = below
	}
	return found
}

// text returns the last text at a path of field numbers, or "".
func (d *decoder) text(message []byte, fields ...int) (last string) {
	for _, data := range d.at(message, fields...) {
		last = string(data)
	}
	return last
}

// number returns a number of a message, or 0.
func (d *decoder) number(message []byte, field int) (last uint64) {
	d.err = cmp.Or(d.err, eachField(message, func(f int, number uint64, _ []byte) {
		if f == field {
			last = number
		}
	}))
	return last
}

// eachField calls do for each field of a protobuf message: with the number for wire type 0, the
// bytes for wire type 2, neither for other types.
func eachField(message []byte, do func(field int, number uint64, data []byte)) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return errProto
		}
		message = message[n:]
		var number uint64
		var data []byte
		size := 0
		switch tag & 7 {
		case 0:
			if number, size = binary.Uvarint(message); size <= 0 {
				return errProto
			}
		case 1:
			size = 8
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return errProto
			}
			size = n + int(length)
			data = message[n:size]
		case 5:
			size = 4
		default:
			return fmt.Errorf("%w: wire type %d", errProto, tag&7)
		}
		if size > len(message) {
			return errProto
		}
		message = message[size:]
		do(int(tag>>3), number, data)
	}
	return nil
}

var errProto = errors.New("a malformed protobuf message")
