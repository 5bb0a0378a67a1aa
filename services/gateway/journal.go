package gateway

import (
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// journal is what is kept of a turn while it runs, so that another gateway can take it up. A nil journal keeps nothing.
type journal struct{}

// decision is the routing that was made before the turn was resumed, or nil.
func (j *journal) decision() *routerv1.RoutingDecision { return nil }

// answer is what was answered before the turn was resumed, or nil.
func (j *journal) answer(assignmentID string) *specialistv1.Answer { return nil }

// decided keeps the final routing.
func (j *journal) decided(d *routerv1.RoutingDecision) {}

// answered keeps an answer.
func (j *journal) answered(assignmentID string, a *specialistv1.Answer) {}
