package weaviate

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Property is one of a collection's.
type Property struct {
	// Name begins with a small letter.
	Name string `json:"name"`
	// DataType is one type, such as "text".
	DataType []string `json:"dataType"`
	// Tokenization of a text: "whitespace", or "field" for all of it as one. Empty for others.
	Tokenization string `json:"tokenization,omitempty"`
	// Filterable and Searchable say which indexes are kept: for filters, and for BM25.
	Filterable bool `json:"indexFilterable"`
	Searchable bool `json:"indexSearchable"`
	// Ranged makes filters by greater and less fast.
	Ranged bool `json:"indexRangeFilters,omitempty"`
}

// Object is one that is kept.
type Object struct {
	// ID is a UUID.
	ID string `json:"id"`
	// Properties by name.
	Properties map[string]any `json:"properties"`
	// Vector is compared by cosine. Empty: the object has none, and is near to nothing.
	Vector []float32 `json:"vector,omitempty"`
}

// CreateCollection creates a collection whose objects belong to tenants, unless there is one of that name. The name begins with
// a capital. Replicas is on how many nodes each object is kept; nodes that missed writes get them in the background. In BM25, a
// word that occurs n times counts n/(n+2) of its rarity; the text's length does not matter.
func (c *Client) CreateCollection(ctx context.Context, name string, replicas int, properties []Property) error {
	err := c.do(ctx, request{"create collection", http.MethodPost, "/v1/schema", map[string]any{
		"class": name, "vectorizer": "none", "properties": properties,
		"vectorIndexConfig": map[string]any{"distance": "cosine"},
		"invertedIndexConfig": map[string]any{
			"stopwords": map[string]any{"preset": "none"},
			"bm25":      map[string]any{"k1": 2, "b": 0},
		},
		"multiTenancyConfig": map[string]any{"enabled": true},
		"replicationConfig": map[string]any{
			"factor": replicas, "asyncEnabled": replicas > 1, "deletionStrategy": "DeleteOnConflict",
		},
	}, writeTime}, nil)
	var refused *Refused
	if errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity {
		if ok, lookErr := c.has(ctx, "/v1/schema/"+name); lookErr == nil && ok {
			return nil // somebody was faster, or the first attempt did it
		}
	}
	return err
}

// HasTenant reports whether there is such a collection, and a tenant in it.
func (c *Client) HasTenant(ctx context.Context, collection, tenant string) (bool, error) {
	return c.has(ctx, "/v1/schema/"+collection+"/tenants/"+tenant)
}

func (c *Client) has(ctx context.Context, path string) (bool, error) {
	err := c.do(ctx, request{"look at collections", http.MethodGet, path, nil, readTime}, nil)
	var refused *Refused
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusUnprocessableEntity) {
		return false, nil
	}
	return err == nil, err
}

// CreateTenant creates a tenant, unless there is one.
func (c *Client) CreateTenant(ctx context.Context, collection, tenant string) error {
	return c.do(ctx, request{
		"create tenant", http.MethodPost, "/v1/schema/" + collection + "/tenants", []map[string]string{{"name": tenant}}, writeTime,
	}, nil)
}

// DeleteTenant deletes a tenant with all its objects, if there is one.
func (c *Client) DeleteTenant(ctx context.Context, collection, tenant string) error {
	err := c.do(ctx, request{
		"delete tenant", http.MethodDelete, "/v1/schema/" + collection + "/tenants", []string{tenant}, writeTime,
	}, nil)
	if Missing(err) {
		return nil
	}
	return err
}

// written is the answer to a batch: an entry for each object.
type written []struct {
	Result struct{ Errors struct{ Error failures } }
}

func (w written) verdict() error {
	for _, o := range w {
		if text := o.Result.Errors.Error.first(); text != "" {
			return &Refused{Status: http.StatusOK, Message: text}
		}
	}
	return nil
}

// Put writes objects, up to some hundreds at once, in place of those with their ids. It returns once most nodes that keep them
// have them.
func (c *Client) Put(ctx context.Context, collection, tenant string, objects []Object) error {
	type stored struct {
		Object
		Class  string `json:"class"`
		Tenant string `json:"tenant"`
	}
	all := make([]stored, len(objects))
	for i, o := range objects {
		all[i] = stored{o, collection, tenant}
	}
	return c.do(ctx, request{
		"write", http.MethodPost, "/v1/batch/objects?consistency_level=QUORUM", map[string]any{"objects": all}, writeTime,
	}, new(written))
}

// deleted is the answer to a deletion.
type deleted struct{ Results struct{ Failed int } }

func (d deleted) verdict() error {
	if d.Results.Failed > 0 {
		return &Refused{Status: http.StatusInternalServerError, Message: "not all objects could be deleted"}
	}
	return nil
}

// Delete deletes the objects of those ids, up to some hundreds at once. Those that are not there are deleted already.
func (c *Client) Delete(ctx context.Context, collection, tenant string, ids []string) error {
	return c.do(ctx, request{
		"delete", http.MethodDelete, "/v1/batch/objects?consistency_level=QUORUM&tenant=" + url.QueryEscape(tenant), map[string]any{
			"match": map[string]any{"class": collection, "where": map[string]any{
				"path": []string{"id"}, "operator": "ContainsAny", "valueTextArray": ids,
			}},
		}, writeTime,
	}, new(deleted))
}

// Members is how many nodes the cluster has.
func (c *Client) Members(ctx context.Context) (int, error) {
	var out struct{ Nodes []struct{ Name string } }
	if err := c.do(ctx, request{"look at nodes", http.MethodGet, "/v1/nodes", nil, readTime}, &out); err != nil {
		return 0, err
	}
	return max(1, len(out.Nodes)), nil
}
