package s3

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// anyRegion is the region of the first request if the bucket's region is unknown. S3 there knows
// the region of every bucket in its partition.
const anyRegion = "us-east-1"

// connected returns the client. It creates a new one only if the CA file changed, because finding
// credentials and a region may take one or two requests to the machine's metadata.
func (s *Source) connected(ctx context.Context) (*awss3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := transfer.StampOf(s.ca)
	if s.client != nil && s.made == now {
		return s.client, nil
	}
	client, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.client, s.made = client, now
	return client, nil
}

// connect creates a client with the settings from the environment, the files of AWS and the
// machine's metadata. It also reads the variables that kOps has for stores other than AWS:
// S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY (util/pkg/vfs/s3context.go).
func (s *Source) connect(ctx context.Context) (*awss3.Client, error) {
	web, err := s.web()
	if err != nil {
		return nil, &objectstore.LocalError{Err: err}
	}
	endpoint := s.endpoint()
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(web),
		// the callers retry, in the same way for all stores
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		// The readers verify every object by its hash. Some servers other than AWS fail with
		// checksums.
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	metadata := imds.New(imds.Options{HTTPClient: web, EnableFallback: aws.FalseTernary}) // IMDSv2 only
	options = append(options,
		config.WithEC2RoleCredentialOptions(func(o *ec2rolecreds.Options) { o.Client = metadata }))
	if region := cmp.Or(s.query.region, os.Getenv("S3_REGION")); region != "" {
		options = append(options, config.WithRegion(region))
	} else if endpoint == "" {
		options = append(options, config.WithEC2IMDSRegion(func(o *config.UseEC2IMDSRegion) { o.Client = metadata }))
	}
	if id, secret := os.Getenv("S3_ACCESS_KEY_ID"), os.Getenv("S3_SECRET_ACCESS_KEY"); id != "" && secret != "" {
		options = append(options,
			config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id, secret, "")))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("read the settings for AWS: %w: correct the variables of the unit, or the files that "+
			"they name", err)
	}
	c.Region = cmp.Or(c.Region, anyRegion)
	return awss3.NewFromConfig(c, func(o *awss3.Options) {
		if endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &endpoint, true
		} else if client, ok := c.HTTPClient.(*awshttp.BuildableClient); ok {
			o.HTTPClient = &http.Client{Transport: client.GetTransport(), CheckRedirect: stay}
		}
	}), nil
}

// stay follows no redirect of AWS S3. Such a redirect leads to another region, which needs a new
// signature (see [Source.do]). The client of the SDK would send the old one.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/Redirects.html
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// endpoint returns the URL of a server other than AWS, or "".
func (s *Source) endpoint() string { return cmp.Or(s.query.endpoint, os.Getenv("S3_ENDPOINT")) }

// web returns the HTTP client, with the limits and the proxy of package transfer.
func (s *Source) web() (*awshttp.BuildableClient, error) {
	pool, err := transfer.Authorities(s.ca)
	if err != nil {
		return nil, err
	}
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		transfer.Bound(t)
		t.DisableCompression = true
		t.TLSClientConfig.RootCAs = pool
	}), nil
}
