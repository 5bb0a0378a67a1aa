package support

import (
	"context"
	"regexp"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	maxPoliciesABatch = 100
	maxBody           = 100_000 // characters
	maxQuestion       = 1_000   // characters
	maxPassages       = 20
	defaultPassages   = 3
)

// policyServer implements PolicyService.
type policyServer struct {
	policyv1.UnsafePolicyServiceServer
	store *policyStore
	now   func() time.Time
}

var _ policyv1.PolicyServiceServer = (*policyServer)(nil)

// UpsertPolicies writes the good documents of each message and reports the bad ones.
func (s *policyServer) UpsertPolicies(stream policyv1.PolicyService_UpsertPoliciesServer) error {
	rep, err := bulk.Upsert[*policyv1.UpsertPoliciesRequest, *policyv1.Policy]{
		Field:    "policies",
		MaxItems: maxPoliciesABatch,
		Items:    (*policyv1.UpsertPoliciesRequest).GetPolicies,
		ID:       (*policyv1.Policy).GetPolicyId,
		Check:    checkPolicy,
		Put: func(ctx context.Context, storeID string, policies []*policyv1.Policy) error {
			written := timestamppb.New(s.now())
			for _, p := range policies {
				p.UpdateTime = written
			}
			return s.store.put(ctx, storeID, policies)
		},
	}.Run(stream.Context(), stream.Recv)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&policyv1.UpsertPoliciesResponse{UpsertedCount: rep.Upserted, Errors: rep.Errors, ErrorCount: rep.ErrorCount})
}

// ListPolicies returns every document of a store, by id.
func (s *policyServer) ListPolicies(ctx context.Context, req *policyv1.ListPoliciesRequest) (*policyv1.ListPoliciesResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	policies, err := s.store.list(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &policyv1.ListPoliciesResponse{Policies: policies}, nil
}

// DeletePolicy removes one document.
func (s *policyServer) DeletePolicy(ctx context.Context, req *policyv1.DeletePolicyRequest) (*policyv1.DeletePolicyResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("policy_id", req.GetPolicyId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	deleted, err := s.store.delete(ctx, req.GetStoreId(), req.GetPolicyId())
	if err != nil {
		return nil, err
	}
	return &policyv1.DeletePolicyResponse{Deleted: deleted}, nil
}

// SearchPolicies returns the passages that best answer a question.
func (s *policyServer) SearchPolicies(ctx context.Context, req *policyv1.SearchPoliciesRequest) (*policyv1.SearchPoliciesResponse, error) {
	limit := req.GetLimit()
	if limit == 0 {
		limit = defaultPassages
	}
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.Text("query", req.GetQuery(), 1, maxQuestion)
	checkLanguage(&c, req.GetLanguage())
	c.Range("limit", int64(limit), 1, maxPassages)
	if err := c.Err(); err != nil {
		return nil, err
	}
	index, err := s.store.current(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	passages, legs := s.store.search(ctx, index, req.GetQuery(), req.GetLanguage(), int(limit))
	return &policyv1.SearchPoliciesResponse{Passages: passages, Legs: legs}, nil
}

// checkPolicy reports every violation of one document as a *fault.Invalid.
func checkPolicy(p *policyv1.Policy) error {
	var c fault.Checker
	c.ID("policy_id", p.GetPolicyId())
	c.Text("title", p.GetTitle(), 1, 200)
	c.Text("body", p.GetBody(), 1, maxBody)
	if p.GetBody() != "" && len(split(p)) == 0 {
		c.Addf("body", "must have text beside section titles")
	}
	checkLanguage(&c, p.GetLanguage())
	checkURL(&c, "url", p.GetUrl())
	return c.Err()
}

// languageForm is the outer form of a BCP 47 tag.
var languageForm = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

func checkLanguage(c *fault.Checker, tag string) {
	if tag != "" && (len(tag) > 35 || !languageForm.MatchString(tag)) {
		c.Addf("language", "must be a BCP 47 tag such as \"en\" or \"de-AT\", or empty")
	}
}
