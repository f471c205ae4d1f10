package s3

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// List implements [objectstore.Destination]. It is an error if a server repeats a page.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
func (s *Source) List(ctx context.Context, prefix string, each func(objectstore.Listed) error) error {
	in := &awss3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix)}
	begun := map[string]bool{"": true} // pages that were read, by their tokens
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
		// some servers send no token or the same one again, and the loop would not end
		token := aws.ToString(out.NextContinuationToken)
		if begun[token] {
			return fmt.Errorf("list %s: the server says that more objects follow, but sends no "+
				"NextContinuationToken: update it to one that lists in pages as S3 does, or keep the store elsewhere",
				prefix)
		}
		begun[token], in.ContinuationToken = true, &token
	}
}

// Remove implements [objectstore.Destination]. In a bucket with versions it only hides the object,
// until a lifecycle rule removes it.
func (s *Source) Remove(ctx context.Context, name string) error {
	return s.do(ctx, request{"remove", name, actionDelete}, func(c *awss3.Client) error {
		_, err := c.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
		return err
	})
}
