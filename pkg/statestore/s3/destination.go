package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Put implements [objectstore.Destination]. After a conflict it checks that the object exists. Some
// servers other than AWS report a conflict for an object that was removed from a bucket with
// versions.
func (s *Source) Put(ctx context.Context, name string, data []byte) error {
	err := s.put(ctx, name, data, &awss3.PutObjectInput{IfNoneMatch: aws.String("*")})
	if !errors.Is(err, objectstore.ErrConflict) {
		return err
	}
	err = s.do(ctx, request{"look for", name, actionGet}, func(c *awss3.Client) error {
		_, err := c.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return s.put(ctx, name, data, &awss3.PutObjectInput{})
	}
	return err
}

// Replace implements [objectstore.Destination]. S3 compares the ETag. A conflict about an object
// that was removed is no other writer: see [Source.Put].
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (s *Source) Replace(ctx context.Context, name string, data []byte, known string) error {
	if known != "" {
		return s.put(ctx, name, data, &awss3.PutObjectInput{IfMatch: &known})
	}
	err := s.put(ctx, name, data, &awss3.PutObjectInput{IfNoneMatch: aws.String("*")})
	if errors.Is(err, objectstore.ErrConflict) {
		if _, missing := s.Get(ctx, name, "", 0); errors.Is(missing, errRemoved) {
			return missing
		}
	}
	return err
}

// put writes an object under the conditions in in.
func (s *Source) put(ctx context.Context, name string, data []byte, in *awss3.PutObjectInput) error {
	in.Bucket, in.Key = &s.bucket, aws.String(s.prefix+name)
	sum := md5.Sum(data) // a bucket with object lock requires it; some servers do not know other checksums
	in.ContentMD5 = aws.String(base64.StdEncoding.EncodeToString(sum[:]))
	if s.query.kmsKey != "" {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &s.query.kmsKey
	}
	var conflict bool
	err := s.do(ctx, request{"put", name, actionPut}, func(c *awss3.Client) error {
		in.Body = bytes.NewReader(data) // each attempt reads it from the start
		_, err := c.PutObject(ctx, in)
		conflict = isConflict(err)
		return err
	})
	if conflict || in.IfMatch != nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put %s: %w", name, objectstore.ErrConflict)
	}
	return err
}
