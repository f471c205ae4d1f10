package s3_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// metadata is a machine's metadata service, only in version 2. It has a region, and a role's
// credentials, which change with each request.
type metadata struct {
	mu    sync.Mutex
	asked []string
	keys  int
	token bool // whether it returns tokens
}

func (m *metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r.Method+" "+r.URL.Path)
	switch path := r.URL.Path; {
	case r.Method == http.MethodPut && path == "/latest/api/token" && m.token:
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		fmt.Fprint(w, "token")
	case r.Header.Get("X-aws-ec2-metadata-token") != "token":
		w.WriteHeader(http.StatusForbidden)
	case path == "/latest/meta-data/iam/security-credentials/":
		fmt.Fprint(w, "nodes")
	case path == "/latest/meta-data/iam/security-credentials/nodes":
		m.keys++
		fmt.Fprintf(w, `{"Code": "Success", "AccessKeyId": "key%d", "SecretAccessKey": "secret", "Token": "session", "Expiration": %q}`, m.keys, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	case path == "/latest/dynamic/instance-identity/document":
		fmt.Fprint(w, `{"region": "eu-west-3"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// role sets the environment of a machine that has only its metadata.
func role(t *testing.T, m *metadata) {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	account(t, "", "", "")
	t.Setenv("S3_REGION", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
}

// If credentials end before their time, the agent takes new ones from the role, once, and the look
// continues.
func TestCredentialsThatExpire(t *testing.T) {
	m := &metadata{token: true}
	role(t, m)
	memory := new(storetest.MapStore)
	set(memory, 1)
	valid := "key1"
	server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential="+valid+"/") {
			toxic.S3(400, "ExpiredToken", "The provided token has expired.")(w, r, nil)
			return
		}
		bucket(memory).ServeHTTP(w, r)
	}), nil)
	s := open(t, "s3://b?endpoint="+server.URL, storetest.Cluster, trust(t, server))
	if _, err := s.Fetch(t.Context(), statestore.Revision{}); err != nil {
		t.Fatal(err)
	}
	if len(m.asked) != 3 {
		t.Errorf("the metadata were asked for %q", m.asked)
	}
	valid = "key2"
	set(memory, 2)
	server.Taken()
	if got, err := s.Fetch(t.Context(), statestore.Revision{}); err != nil || got.Generation != 2 {
		t.Errorf("Fetch returns %v, %v", got, err)
	}
	if asked, _ := server.Taken(); len(asked) != 3 || m.keys != 2 {
		t.Errorf("%q, %d credentials", asked, m.keys)
	}
	valid = "none"
	if _, err := s.Fetch(t.Context(), statestore.Revision{}); err == nil || !graph.IsTransient(err) || strings.Contains(err.Error(), "secret") {
		t.Errorf("credentials that are no good: %v", err)
	}
}

// If a metadata service returns no token, the agent does not use version 1 of it. A person who can
// make a machine send a request anywhere would get the machine's credentials by that version.
func TestNoMetadataOfVersion1(t *testing.T) {
	m := &metadata{}
	role(t, m)
	server := toxic.New(t, bucket(new(storetest.MapStore)), nil)
	_, err := open(t, "s3://b?endpoint="+server.URL, storetest.Cluster, trust(t, server)).Fetch(t.Context(), statestore.Revision{})
	if err == nil || !graph.IsTransient(err) || !strings.Contains(err.Error(), "give the machine a role that may read arn:aws:s3:::b/"+storetest.Cluster+"/*") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Fetch returns %v", err)
	}
	if slices.ContainsFunc(m.asked, func(s string) bool { return !strings.HasPrefix(s, "PUT ") }) {
		t.Errorf("asked %q", m.asked)
	}
	t.Log(err)
	if asked, _ := server.Taken(); len(asked) > 0 {
		t.Errorf("S3 was asked: %q", asked)
	}
}

// The region comes from the machine. If the bucket is in another region, the answer names that
// region, and later requests go there. The agent tries no other regions.
func TestRegion(t *testing.T) {
	for in, first := range map[string]int{"eu-west-3": 2, "eu-north-1": 3} {
		m := &metadata{token: true}
		role(t, m)
		memory := new(storetest.MapStore)
		set(memory, 1)
		server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Authorization"), "/"+in+"/s3/") {
				toxic.S3(301, "PermanentRedirect", "Elsewhere.", "x-amz-bucket-region", in)(w, r, nil)
				return
			}
			bucket(memory).ServeHTTP(w, r)
		}), nil)
		t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
		s := open(t, "s3://b", storetest.Cluster, trust(t, server))
		last := statestore.Revision{}
		for _, want := range []int{first, 1} {
			got, err := s.Fetch(t.Context(), last)
			if err == nil {
				last = got.Revision
			} else if !errors.Is(err, statestore.ErrNotModified) {
				t.Errorf("%s: the error is %v", in, err)
			}
			if asked, _ := server.Taken(); len(asked) != want {
				t.Errorf("%s: %q, want %d requests", in, asked, want)
			}
		}
	}
}

// A new bucket answers with a temporary redirect to its region. The request is signed again for
// that region, since only such a signature is valid there. A client that only follows the redirect
// has no valid signature. https://docs.aws.amazon.com/AmazonS3/latest/userguide/Redirects.html
func TestTemporaryRedirect(t *testing.T) {
	role(t, &metadata{token: true})
	memory := new(storetest.MapStore)
	set(memory, 1)
	const in = "eu-north-1"
	var server *toxic.Server
	server = toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/elsewhere/"):
			toxic.S3(403, "AccessDenied", "Access Denied")(w, r, nil)
		case !strings.Contains(r.Header.Get("Authorization"), "/"+in+"/s3/"):
			toxic.S3(307, "TemporaryRedirect", "Please re-send this request to the specified temporary endpoint.",
				"x-amz-bucket-region", in, "Location", server.URL+"/elsewhere"+r.URL.Path)(w, r, nil)
		default:
			bucket(memory).ServeHTTP(w, r)
		}
	}), nil)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	if _, err := open(t, "s3://b", storetest.Cluster, trust(t, server)).Fetch(t.Context(), statestore.Revision{}); err != nil {
		t.Error(err)
	}
	if asked, _ := server.Taken(); slices.ContainsFunc(asked, func(s string) bool { return strings.Contains(s, "/elsewhere/") }) {
		t.Errorf("Taken returns %q", asked)
	}
}
