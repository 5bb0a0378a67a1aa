package support

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

const (
	maxPoliciesABatch = 100
	maxPassages       = 20
	defaultPassages   = 3
)

// policyServer implements PolicyService.
type policyServer struct {
	policyv1.UnsafePolicyServiceServer
	repository *policies.Repository
	now        func() time.Time
}

var _ policyv1.PolicyServiceServer = (*policyServer)(nil)

// UpsertPolicies writes the good documents of each message and reports the bad ones.
func (s *policyServer) UpsertPolicies(stream policyv1.PolicyService_UpsertPoliciesServer) error {
	rep, err := bulk.Upsert[*policyv1.UpsertPoliciesRequest, *policyv1.Policy]{
		Field:    "policies",
		MaxItems: maxPoliciesABatch,
		Items:    (*policyv1.UpsertPoliciesRequest).GetPolicies,
		ID:       (*policyv1.Policy).GetPolicyId,
		Check:    policies.Check,
		Put: func(ctx context.Context, storeID string, documents []*policyv1.Policy) error {
			written := timestamppb.New(s.now())
			for _, p := range documents {
				p.UpdateTime = written
			}
			return s.repository.Put(ctx, storeID, documents)
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
	documents, err := s.repository.List(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &policyv1.ListPoliciesResponse{Policies: documents}, nil
}

// DeletePolicy removes one document.
func (s *policyServer) DeletePolicy(ctx context.Context, req *policyv1.DeletePolicyRequest) (*policyv1.DeletePolicyResponse, error) {
	var c fault.Checker
	c.ID("store_id", req.GetStoreId())
	c.ID("policy_id", req.GetPolicyId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	deleted, err := s.repository.Delete(ctx, req.GetStoreId(), req.GetPolicyId())
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
	c.Text("query", req.GetQuery(), 1, policies.MaxQuestion)
	policies.CheckLanguage(&c, req.GetLanguage())
	c.Range("limit", int64(limit), 1, maxPassages)
	if err := c.Err(); err != nil {
		return nil, err
	}
	version, err := s.repository.Version(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	passages, legs, err := s.repository.Search(ctx, req.GetStoreId(), version, req.GetQuery(), req.GetLanguage(), int(limit))
	if err != nil {
		return nil, err
	}
	return &policyv1.SearchPoliciesResponse{Passages: passages, Legs: legs}, nil
}
