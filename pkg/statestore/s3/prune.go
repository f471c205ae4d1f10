package s3

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

var _ objectstore.Prunable = (*Source)(nil)

// List implements [objectstore.Prunable].
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
func (s *Source) List(ctx context.Context, prefix string, each func(objectstore.Listed) error) error {
	in := &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix)}
	for {
		var out *awss3.ListObjectsV2Output
		err := s.do(ctx, request{"list", prefix, actionList}, func(c *awss3.Client) (err error) {
			out, err = c.ListObjectsV2(ctx, in)
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range out.Contents {
			name := strings.TrimPrefix(aws.ToString(o.Key), s.prefix)
			if err := each(objectstore.Listed{Name: name, Size: aws.ToInt64(o.Size),
				Put: aws.ToTime(o.LastModified)}); err != nil {
				return err
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// Remove implements [objectstore.Prunable]. In a bucket that keeps versions the object is hidden,
// until a rule for its lifecycle ends it.
func (s *Source) Remove(ctx context.Context, name string) error {
	return s.do(ctx, request{"remove", name, actionDelete}, func(c *awss3.Client) error {
		_, err := c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
		return err
	})
}
