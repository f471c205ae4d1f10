// Package ec2 calls the AWS API for those parts of a node's network that only AWS knows, and only
// if the documents request it: the source/destination check of an interface, and the number and
// quota of the routes in a table. It has a client of its own, because it needs four of the several
// hundred actions of the SDK's client.
//
// It sends no request before the first call, not even for credentials.
package ec2

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
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

// apiVersion is the version of the Query API.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html
const apiVersion = "2016-11-15"

// The limits of a call.
const (
	answer   = 10 * time.Second // with the time to find credentials
	largest  = 4 << 20          // bytes; a thousand routes are some 250 kB
	believed = 30 * time.Minute // how long an answer is cached: all nodes share the account's rate limit
)

// Client calls EC2. The zero value is ready for use. Its credentials are those of the SDK's default
// chain (environment, files, the instance's role). Its endpoint is the region's, or
// AWS_ENDPOINT_URL_EC2. It caches answers for half an hour, or until it changes something. It is
// safe for concurrent use.
type Client struct {
	mu          sync.Mutex
	web         *transfer.Client
	credentials aws.CredentialsProvider
	read        map[string]reading
	quotas      map[string]quotaReading // by region
}

// reading is an answer with its time.
type reading struct {
	at   time.Time
	body []byte
}

// look returns an answer from the cache, or calls EC2.
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

// forget empties the cache after a change.
func (c *Client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = nil
}

// call makes one call. Its errors name the action, and are marked [graph.Transient] if another
// attempt may succeed.
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
		return nil, errors.New("AWS_ENDPOINT_URL_EC2 is not a valid URL: correct it")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	body, status, err := c.send(ctx, region, "ec2", r, text)
	if err == nil && status != http.StatusOK {
		err = refused(action, status, body)
	}
	return body, err
}

// send signs and sends a request to a service, and reads the response.
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
		return nil, 0, transfer.Explain(ctx, err, "")
	}
	defer response.Body.Close() // nothing was written
	body, err = io.ReadAll(io.LimitReader(response.Body, largest+1))
	switch {
	case err != nil:
		return nil, 0, transfer.Explain(ctx, err, "")
	case len(body) > largest:
		return nil, 0, fmt.Errorf("an answer of more than %d bytes", largest)
	}
	return bytes.Clone(body), response.StatusCode, nil
}

// sign signs a request with the credentials.
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

// connected returns the HTTP client and the credentials, which it looks for once.
func (c *Client) connected(ctx context.Context, region string) (*transfer.Client, aws.CredentialsProvider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.credentials != nil {
		return c.web, c.credentials, nil
	}
	inner := awshttp.NewBuildableClient().WithTransportOptions(transfer.Bound)
	metadata := imds.New(imds.Options{HTTPClient: inner, EnableFallback: aws.FalseTernary}) // IMDSv2 only
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

// endpoint returns the URL of EC2 in a region.
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

func decode(action string, body []byte, to any) error {
	if err := xml.Unmarshal(body, to); err != nil {
		return fmt.Errorf("read EC2's answer to %s: %w", action, err)
	}
	return nil
}

// refused returns the error of a response with an error.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func refused(action string, status int, body []byte) error {
	var got struct {
		Code    string `xml:"Errors>Error>Code"`
		Message string `xml:"Errors>Error>Message"`
	}
	if xml.Unmarshal(body, &got) != nil || got.Code == "" {
		got.Code = fmt.Sprintf("status %d", status)
	}
	message, _, _ := strings.Cut(got.Message, " Encoded authorization failure message") // a page of base64
	err := errors.New(strings.TrimSuffix(got.Code+": "+strings.TrimSpace(message), ": "))
	switch got.Code {
	case "UnauthorizedOperation":
		return fmt.Errorf("%w: allow ec2:%s to the instance's role (docs/aws.md)", err, action)
	case "AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch":
		return fmt.Errorf("%w: look at the credentials of the agent's unit, and at this machine's clock", err)
	case "RequestExpired": // the clock may be wrong early at boot
		return graph.Transient(fmt.Errorf("%w: look at this machine's clock", err))
	case "RequestLimitExceeded", "Throttling", "ThrottlingException":
		return graph.Transient(err)
	}
	if transfer.IsTransient(status) {
		return graph.Transient(err)
	}
	return err
}
