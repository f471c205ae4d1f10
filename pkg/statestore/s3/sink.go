package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Put implements [objectstore.Sink].
func (s *Source) Put(ctx context.Context, name string, data []byte) error {
	err := s.Replace(ctx, name, data, "")
	if errors.Is(err, objectstore.ErrConflict) {
		return nil
	}
	return err
}

// Replace implements [objectstore.Sink]. S3 compares the ETag itself. https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (s *Source) Replace(ctx context.Context, name string, data []byte, known string) error {
	in := &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name), IfMatch: aws.String(known)}
	if known == "" {
		in.IfMatch, in.IfNoneMatch = nil, aws.String("*")
	}
	if s.query.kmsKey != "" {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &s.query.kmsKey
	}
	var conflict bool
	err := s.do(ctx, request{"put", name, actionPut}, func(c *awss3.Client) error {
		in.Body = bytes.NewReader(data) // anew for each
		_, err := c.PutObject(ctx, in)
		conflict = isConflict(err)
		return err
	})
	if conflict || known != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put %s: %w", name, objectstore.ErrConflict)
	}
	return err
}
