// Package ec2 asks EC2's API the few things of a node's network that only it knows, and only where
// the documents want them: the source/destination check of an interface, and the routes in a table
// with their quota. It speaks the APIs by itself: four actions are not worth the SDK's client of
// several hundred.
//
// Nothing is asked before the first call, not even for credentials.
package ec2

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// apiVersion is that of the Query API.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html
const apiVersion = "2016-11-15"

// The bounds of a call.
const (
	answer   = 10 * time.Second // with what it takes to find credentials
	largest  = 4 << 20          // bytes; a thousand routes are some 250 kB
	believed = 30 * time.Minute // how long what was read is taken for true: a fleet shares one account's rate
)

// Client asks EC2. Its zero value is ready: credentials are those of the SDK's default chain
// (environment, files, the instance's role), the endpoint is the region's, or AWS_ENDPOINT_URL_EC2.
// What it reads it believes for half an hour, unless it changed something since. Safe for several
// goroutines.
type Client struct {
	mu          sync.Mutex
	web         *transfer.Client
	credentials aws.CredentialsProvider
	read        map[string]reading
	quotas      map[string]quotaReading // by region
}

// reading is an answer, and when it came.
type reading struct {
	at   time.Time
	body []byte
}

// look reads, or has cached what it read.
func (c *Client) look(ctx context.Context, region, action string, form url.Values) ([]byte, error) {
	key := region + " " + action + " " + form.Encode()
	c.mu.Lock()
	known, ok := c.read[key]
	c.mu.Unlock()
	if ok && time.Since(known.at) < believed {
		return known.body, nil
	}
	body, err := c.call(ctx, region, action, form)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = map[string]reading{}
	}
	c.read[key] = reading{time.Now(), body}
	return body, nil
}

// forget drops what was read: something was changed.
func (c *Client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = nil
}

// call makes one call. Its errors name the action, and are marked [graph.Transient] where another
// attempt may fare better.
func (c *Client) call(ctx context.Context, region, action string, form url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answer, graph.Transient(fmt.Errorf("no answer within %s", answer)))
	defer cancel()
	body, err := c.ask(ctx, region, action, form)
	if err != nil {
		return nil, fmt.Errorf("ask EC2 of %s to %s: %w", region, action, err)
	}
	return body, nil
}

func (c *Client) ask(ctx context.Context, region, action string, form url.Values) ([]byte, error) {
	form.Set("Action", action)
	form.Set("Version", apiVersion)
	text := form.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint(region), strings.NewReader(text))
	if err != nil {
		return nil, errors.New("AWS_ENDPOINT_URL_EC2 makes no request: correct it")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	body, status, err := c.send(ctx, region, "ec2", r, text)
	if err == nil && status != http.StatusOK {
		err = refused(action, status, body)
	}
	return body, err
}

// send signs a request for a service, makes it, and reads the answer.
func (c *Client) send(
	ctx context.Context, region, service string, r *http.Request, text string,
) (body []byte, status int, err error) {
	r.Header.Set("User-Agent", "netwright")
	web, err := c.sign(ctx, region, service, r, text)
	if err != nil {
		return nil, 0, err
	}
	response, err := web.HTTP.Do(r)
	if err != nil {
		return nil, 0, transfer.Explain(ctx, err)
	}
	defer response.Body.Close() // only read from
	body, err = io.ReadAll(io.LimitReader(response.Body, largest+1))
	switch {
	case err != nil:
		return nil, 0, transfer.Explain(ctx, err)
	case len(body) > largest:
		return nil, 0, fmt.Errorf("an answer of more than %d bytes", largest)
	}
	return bytes.Clone(body), response.StatusCode, nil
}

// sign puts the signature on a request.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
func (c *Client) sign(
	ctx context.Context, region, service string, r *http.Request, text string,
) (*transfer.Client, error) {
	web, provider, err := c.connected(ctx, region)
	if err != nil {
		return nil, err
	}
	who, err := provider.Retrieve(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, graph.Transient(fmt.Errorf("find credentials: %w: give the instance a role (docs/aws.md), or the "+
			"agent's unit AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", err))
	}
	sum := sha256.Sum256([]byte(text))
	if err := v4.NewSigner().SignHTTP(ctx, who, r, hex.EncodeToString(sum[:]), service, region,
		time.Now()); err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	return web, nil
}

// connected finds out where credentials are, once.
func (c *Client) connected(ctx context.Context, region string) (*transfer.Client, aws.CredentialsProvider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.credentials != nil {
		return c.web, c.credentials, nil
	}
	inner := awshttp.NewBuildableClient().WithTransportOptions(transfer.Bound)
	metadata := imds.New(imds.Options{HTTPClient: inner, EnableFallback: aws.FalseTernary}) // version 2 alone
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(inner),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }), // the graph retries
		config.WithEC2RoleCredentialOptions(func(o *ec2rolecreds.Options) { o.Client = metadata }))
	if err != nil {
		return nil, nil,
			fmt.Errorf("read AWS' settings: %w: correct the variables AWS_… of the agent's unit, and ~/.aws", err)
	}
	c.credentials = settings.Credentials
	c.web = transfer.NewClient(nil, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	return c.web, c.credentials, nil
}

// endpoint is where a region's EC2 is asked.
// https://docs.aws.amazon.com/general/latest/gr/ec2-service.html
func endpoint(region string) string {
	return cmp.Or(os.Getenv("AWS_ENDPOINT_URL_EC2"), "https://ec2."+region+"."+domain(region))
}

func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}
