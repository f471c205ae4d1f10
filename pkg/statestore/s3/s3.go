// Package s3 reads a published cluster from S3 or a server with the same API, and publishes one
// there.
package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// Source reads and writes the objects of one cluster in a bucket. It connects at the first request.
type Source struct {
	bucket, prefix string // prefix ends with a slash
	// PEM file of the CAs that are trusted instead of the machine's own; "" for the machine's own
	ca    string
	query settings

	mu     sync.Mutex
	client *awss3.Client
	made   transfer.Stamp // state of the CA file when client was created
}

var _ objectstore.Destination = (*Source)(nil)

// settings are the query of the store's URL.
type settings struct {
	region    string // of the bucket; "" to find it out
	endpoint  string // of a server other than AWS
	versionID string // of the manifest: read this version instead of the latest
	kmsKey    string // encrypts the objects that are written; "" for the bucket's default
}

// New returns the Source for cluster below s3://bucket/prefix. Every error is permanent.
func New(u *url.URL, cluster, ca string) (*Source, error) {
	shown := "s3://" + u.Host + u.EscapedPath()
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("state store %s: a key in the URL is visible to every user of this machine: take the "+
			"key out, and give the machine a role, or the unit AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", shown)
	case u.Host == "" || u.Port() != "":
		return nil, fmt.Errorf("state store %s: it names no bucket: write s3://bucket/prefix", shown)
	}
	out := &Source{bucket: u.Host, prefix: strings.TrimPrefix(strings.TrimSuffix(u.Path, "/")+"/"+cluster+"/", "/"),
		ca: ca}
	known := map[string]*string{"region": &out.query.region, "endpoint": &out.query.endpoint,
		"versionId": &out.query.versionID, "kmsKey": &out.query.kmsKey}
	for name, values := range u.Query() {
		field, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("state store %s: the parameter ?%s= is unknown: expected region, endpoint, "+
				"versionId or kmsKey", shown, name)
		}
		*field = values[0]
	}
	return out, nil
}

// String implements [objectstore.Source].
func (s *Source) String() string { return "s3://" + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

// Get implements [objectstore.Source].
func (s *Source) Get(ctx context.Context, name, known string, limit int64) (objectstore.Object, error) {
	in := &awss3.GetObjectInput{}
	if known != "" {
		in.IfNoneMatch = &known
	}
	if s.query.versionID != "" && name == manifest {
		in.VersionId = &s.query.versionID
	}
	out, err := s.get(ctx, name, in)
	if err != nil {
		return objectstore.Object{}, err
	}
	defer out.Body.Close()
	data, err := transfer.ReadObject(name, out.Body, aws.ToInt64(out.ContentLength), limit)
	return objectstore.Object{Body: data, ETag: aws.ToString(out.ETag)}, err
}

// manifest is the name of the only object that changes, so only it has versions.
const manifest = "manifest"

// Open implements [objectstore.Source].
func (s *Source) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	return transfer.Resume(ctx, func(ctx context.Context, from int64, etag string) (transfer.Part, error) {
		in := &awss3.GetObjectInput{}
		if from > 0 { // S3 has no If-Range; if the object changed, IfMatch makes this an error
			in.Range, in.IfMatch = aws.String(fmt.Sprintf("bytes=%d-", from)), &etag
		}
		out, err := s.get(ctx, name, in)
		if err != nil {
			return transfer.Part{}, err
		}
		p := transfer.Part{Body: out.Body, From: from, Size: aws.ToInt64(out.ContentLength) + from,
			ETag: aws.ToString(out.ETag)}
		if from > 0 && out.ContentRange == nil {
			p.From, p.Size = 0, p.Size-from // the server ignored the range and sends the whole object
		}
		return p, nil
	})
}

// get requests an object. Its body ends with an error if the server is too slow, and the errors of
// reading it say what to do.
func (s *Source) get(ctx context.Context, name string, in *awss3.GetObjectInput) (*awss3.GetObjectOutput, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	in.Bucket, in.Key = &s.bucket, aws.String(s.prefix+name)
	ctx, cancel := context.WithCancelCause(ctx)
	var out *awss3.GetObjectOutput
	err := s.do(ctx, request{"get", name, actionGet}, func(c *awss3.Client) (err error) {
		out, err = c.GetObject(ctx, in)
		return err
	})
	if err != nil {
		cancel(err)
		return nil, err
	}
	out.Body = transfer.LimitStalls(ctx, out.Body, transfer.Stall, cancel)
	return out, nil
}

// do makes a request. If the answer names another region of the bucket, do repeats it there, and so
// do all later requests.
func (s *Source) do(ctx context.Context, r request, ask func(*awss3.Client) error) error {
	client, err := s.connected(ctx)
	if err != nil {
		return err
	}
	if err = ask(client); err == nil {
		return nil
	}
	if region := elsewhere(err); region != "" && region != client.Options().Region && s.endpoint() == "" {
		if err = ask(s.inRegion(client, region)); err == nil {
			return nil
		}
	}
	return s.explain(ctx, r, err)
}

// inRegion replaces the client by one for the region of the bucket.
func (s *Source) inRegion(client *awss3.Client, region string) *awss3.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = awss3.New(client.Options(), func(o *awss3.Options) { o.Region = region })
	return s.client
}

// isConflict reports whether the condition of a write was false. It goes by the status: the error
// codes of servers other than AWS differ, and a proxy before the server may send none.
// https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
func isConflict(err error) bool {
	r := responseOf(err)
	return r != nil && (r.StatusCode == http.StatusPreconditionFailed || r.StatusCode == http.StatusConflict)
}
