package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// request describes a request in messages.
type request struct {
	verb, name string
	action     string // the action that IAM must allow
}

// Codes of S3's errors. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
var (
	staleCredentials = []string{"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestExpired"}
	wrongCredentials = []string{"InvalidAccessKeyId", "SignatureDoesNotMatch"}
	missingCodes     = []string{"NoSuchKey", "NoSuchVersion", "NotFound"}
)

// errRemoved marks the error of a missing object of which the bucket has earlier versions.
var errRemoved = errors.New("it was removed, and the bucket has its versions: remove its delete marker")

// explain returns the error of a request: what S3 answered, and what to do.
func (s *Source) explain(ctx context.Context, r request, err error) error {
	response := responseOf(err)
	if response == nil {
		return fmt.Errorf("%s %s: %w", r.verb, r.name, s.unanswered(ctx, err))
	}
	code, status := code(err), response.StatusCode
	said := fmt.Errorf("%s %s: S3 says %d %s%s", r.verb, r.name, status, code, detail(err))
	switch {
	case status == http.StatusNotModified:
		return objectstore.ErrNotModified
	case code == "NoSuchBucket":
		return problem.Missing("%w: correct the bucket in store, or make it", said)
	case slices.Contains(staleCredentials, code):
		s.renew()
		return graph.Transient(fmt.Errorf("%w: renew the credentials", said))
	case slices.Contains(wrongCredentials, code):
		return fmt.Errorf("%w: correct the credentials", said)
	case code == "RequestTimeTooSkewed":
		return graph.Transient(fmt.Errorf("%w: look at this machine's clock", said))
	case elsewhere(err) != "":
		return fmt.Errorf("%w: the bucket is in %s: write s3://%s/…?region=%s", said, elsewhere(err), s.bucket,
			elsewhere(err))
	case code == "InvalidObjectState": // status 403, although the caller may read it
		return fmt.Errorf("%w: restore it, and end the rule of the bucket's lifecycle that archives what is below "+
			"s3://%s/%s", said, s.bucket, s.prefix)
	case strings.HasPrefix(code, "KMS."):
		return fmt.Errorf("%w: look at the key with which %s is encrypted: whether it is enabled, and still there",
			said, s.arn("*"))
	case status == http.StatusForbidden:
		return objectstore.Denied(fmt.Errorf("%w: %s", said, s.missing(r, err)))
	case slices.Contains(missingCodes, code):
		if response.Header.Get("X-Amz-Delete-Marker") == "true" {
			said = fmt.Errorf("%w: %w", said, errRemoved)
		}
		return problem.Missing("%w", said)
	case transfer.IsTransient(status) || code == "SlowDown" || code == "RequestTimeout":
		return objectstore.Later(said, transfer.RetryAfter(response, time.Now()))
	case status == http.StatusNotImplemented && r.action == actionPut: // of a header
		return fmt.Errorf("%w: it lacks what a publication needs: writes on a condition (If-Match and If-None-Match "+
			"of a PUT), or the encryption of ?kmsKey=: update the server, or publish to another store", said)
	}
	return fmt.Errorf("%w: look whether that is S3, and at what store names", said)
}

// unanswered returns the error of a request that got no answer or was not sent.
func (s *Source) unanswered(ctx context.Context, err error) error {
	var unsent *smithyhttp.RequestSendError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &unsent):
		return transfer.Explain(ctx, unsent.Err, s.ca)
	}
	if at, ok := errors.AsType[*smithy.OperationError](err); ok { // its text repeats the verb and the name
		err = at.Err
	}
	if strings.Contains(err.Error(), "credential") { // the SDK has no type for this error
		// the metadata may not answer yet at boot
		return graph.Transient(fmt.Errorf("no credentials: %w: give the machine a role that may read %s, or the unit "+
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", oneLine(err), s.arn("*")))
	}
	return graph.Transient(oneLine(err))
}

// missing returns the IAM permission that the request needs.
func (s *Source) missing(r request, err error) string {
	if text := detail(err); strings.Contains(text, "kms:") {
		return fmt.Sprintf("allow kms:Decrypt (to publish, kms:GenerateDataKey too) on the key with which %s is "+
			"encrypted, in IAM and in the key's policy", s.arn(r.name))
	}
	if r.action == actionList { // an action on the bucket
		return fmt.Sprintf("allow %s on arn:aws:s3:::%s", r.action, s.bucket)
	}
	text := fmt.Sprintf("allow %s on %s", r.action, s.arn("*"))
	// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html#API_GetObject_RequestSyntax,
	// "Permissions"
	if r.action == actionGet {
		text += fmt.Sprintf("; and s3:ListBucket on arn:aws:s3:::%s, without which S3 also calls a missing object "+
			"forbidden", s.bucket)
	}
	return text
}

// The IAM actions that this package needs.
const (
	actionGet = "s3:GetObject"
	actionPut = "s3:PutObject"

	actionList   = "s3:ListBucket"
	actionDelete = "s3:DeleteObject"
)

// arn returns the ARN of objects of the cluster.
func (s *Source) arn(name string) string { return "arn:aws:s3:::" + s.bucket + "/" + s.prefix + name }

// renew drops credentials that S3 no longer accepts, although they have not expired.
func (s *Source) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return
	}
	if cache, ok := s.client.Options().Credentials.(*aws.CredentialsCache); ok {
		cache.Invalidate()
	}
}

// elsewhere returns the region in which the bucket is, if the answer names it.
func elsewhere(err error) string {
	response := responseOf(err)
	if response == nil || response.StatusCode != http.StatusMovedPermanently &&
		response.StatusCode != http.StatusBadRequest && response.StatusCode != http.StatusTemporaryRedirect {
		return ""
	}
	return response.Header.Get("x-amz-bucket-region")
}

func responseOf(err error) *http.Response {
	var answered *smithyhttp.ResponseError
	if !errors.As(err, &answered) || answered.Response == nil || answered.Response.Response == nil ||
		answered.Response.StatusCode == 0 {
		return nil // the SDK returns an empty response if none was received
	}
	return answered.Response.Response
}

func code(err error) string {
	if said, ok := errors.AsType[smithy.APIError](err); ok {
		return said.ErrorCode()
	}
	return ""
}

// detail returns the message of an S3 error. It names the caller and the resource, and contains no
// secret.
func detail(err error) string {
	var said smithy.APIError
	if !errors.As(err, &said) || said.ErrorMessage() == "" || said.ErrorMessage() == said.ErrorCode() {
		return ""
	}
	return " (" + oneLine(errors.New(said.ErrorMessage())).Error() + ")"
}

// oneLine returns the message as one line of limited length.
func oneLine(err error) error {
	const longest = 300
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return errors.New(text)
}
