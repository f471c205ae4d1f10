// Package s3server runs a real S3 server for tests: versitygw over a directory.
package s3server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/child"
)

// The one account of the server.
const (
	Access = "lab"
	Secret = "labsecret1"
)

const patience = 3 * time.Minute // far above what a busy machine takes: it only ends what hangs

// Server is a running S3 server.
type Server struct {
	URL string // http://127.0.0.1:39053

	t       testing.TB
	process *child.Process
	log     string
}

// Start starts a server and waits until it answers. It ends with the test. If the test failed, its
// log is shown.
func Start(t testing.TB) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{t: t, log: filepath.Join(dir, "log")}
	for _, name := range []string{"data", "versions"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// The kernel gives it a port that is free, which it does not say.
	cmd := exec.CommandContext(context.Background(), assets.Versitygw(t), "--port", "127.0.0.1:0", "--access", Access, "--secret", Secret, "--health", "/health", "--quiet",
		"posix", "--versioning-dir", filepath.Join(dir, "versions"), filepath.Join(dir, "data"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if s.process, err = child.Start(cmd); err != nil {
		t.Fatalf("starting versitygw: %v", err)
	}
	t.Cleanup(func() {
		s.process.Kill()
		if t.Failed() {
			out, _ := os.ReadFile(s.log)
			t.Logf("versitygw:\n%s", out[max(0, len(out)-4000):])
		}
	})
	s.await()
	return s
}

func (s *Server) await() {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		port, err := listening(s.process.PID)
		if err == nil {
			s.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
			if err = s.healthy(); err == nil {
				return
			}
		}
		select {
		case <-s.process.Ended:
			s.t.Fatalf("versitygw ended: %v", s.process.Err())
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("versitygw does not answer: %v", err)
		}
	}
}

func (s *Server) healthy() error {
	r, err := http.Get(s.URL + "/health")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("it says %s", r.Status)
	}
	return nil
}

// listening is the port of IPv4 on which a process listens. proc(5), /proc/pid/net/tcp: local
// address, state 0A, inode.
func listening(pid int) (uint64, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	fds, err := filepath.Glob(dir + "fd/*")
	if err != nil {
		return 0, err
	}
	var own []string
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); strings.HasPrefix(to, "socket:[") {
			own = append(own, strings.Trim(to, "socket:[]"))
		}
	}
	table, err := os.ReadFile(dir + "net/tcp")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(table), "\n") {
		if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && strings.Contains(" "+strings.Join(own, " ")+" ", " "+f[9]+" ") {
			_, port, _ := strings.Cut(f[1], ":")
			return strconv.ParseUint(port, 16, 16)
		}
	}
	return 0, fmt.Errorf("process %d listens nowhere yet", pid)
}

// Client returns a client that asks the server directly, for changes that the agent does not see.
func (s *Server) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &s.URL, UsePathStyle: true, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider(Access, Secret, ""),
	})
}

// Bucket makes a bucket that keeps versions.
func (s *Server) Bucket(name string) {
	s.t.Helper()
	if _, err := s.Client().CreateBucket(s.t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		s.t.Fatalf("making a bucket: %v", err)
	}
	_, err := s.Client().PutBucketVersioning(s.t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		s.t.Fatalf("letting a bucket keep versions: %v", err)
	}
}

// Put writes an object, and returns its version.
func (s *Server) Put(bucket, key string, data []byte) string {
	s.t.Helper()
	out, err := s.Client().PutObject(s.t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data)})
	if err != nil {
		s.t.Fatalf("putting %s: %v", key, err)
	}
	return aws.ToString(out.VersionId)
}
