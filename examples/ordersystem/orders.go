package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// order is what the server needs to know of an order to decide who may see it. The rest goes out as it stands in the file,
// which has the contract's form (quartet.order.v1.Order).
type order struct {
	ID         string    `json:"order_id"`
	CustomerID string    `json:"customer_id"`
	Email      string    `json:"email"`
	PostalCode string    `json:"postal_code"`
	Placed     time.Time `json:"create_time"`

	raw json.RawMessage
}

// query is the body of a request.
type query struct {
	StoreID    string `json:"store_id"`
	OrderID    string `json:"order_id"`
	CustomerID string `json:"customer_id"`
	Email      string `json:"email"`
	PostalCode string `json:"postal_code"`
	PageToken  string `json:"page_token"`
	Limit      int    `json:"limit"`
}

// system is the order system of one store.
type system struct {
	storeID  string
	orders   []order // the newest first
	verifier *verifier
	log      *slog.Logger
}

func newSystem(storeID string, orders []order, v *verifier, log *slog.Logger) *system {
	slices.SortFunc(orders, func(a, b order) int { return b.Placed.Compare(a.Placed) })
	return &system{storeID: storeID, orders: orders, verifier: v, log: log}
}

// handler serves the two paths under any prefix.
func (s *system) handler(prefix string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+prefix+"/orders/get", s.signed(s.get))
	mux.HandleFunc("POST "+prefix+"/orders/list", s.signed(s.list))
	return mux
}

// signed lets only verified requests for this store through. All others get the same answer, which says nothing.
func (s *system) signed(answer func(http.ResponseWriter, query)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := s.verifier.verify(r)
		if err != nil {
			s.log.Warn("refused", "path", r.URL.Path, "error", err)
			reply(w, http.StatusUnauthorized, map[string]string{"error": "not verified"})
			return
		}
		var q query
		if err := json.Unmarshal(body, &q); err != nil || q.StoreID != s.storeID {
			reply(w, http.StatusBadRequest, map[string]string{"error": "bad request"})
			return
		}
		answer(w, q)
	}
}

// get answers with an order of the customer, or of the guest who knows it; 404 for a missing order and for another's alike.
func (s *system) get(w http.ResponseWriter, q query) {
	for _, o := range s.orders {
		if strings.EqualFold(o.ID, q.OrderID) && o.seenBy(q) {
			reply(w, http.StatusOK, map[string]any{"order": o.raw})
			return
		}
	}
	reply(w, http.StatusNotFound, map[string]string{"error": "no such order"})
}

// seenBy reports whether a query proves that the order is the asker's. Quartet sends e-mail addresses in lower case, and
// postal codes in upper case without spaces and dashes.
func (o order) seenBy(q query) bool {
	switch {
	case q.CustomerID != "":
		return o.CustomerID == q.CustomerID
	case q.Email != "":
		return strings.ToLower(o.Email) == q.Email
	case q.PostalCode != "":
		return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(o.PostalCode)) == q.PostalCode
	}
	return false
}

// list answers with a page of a customer's orders, the newest first. The token of a page is the id of the order before it.
func (s *system) list(w http.ResponseWriter, q query) {
	found, last, next, total := []json.RawMessage{}, "", "", 0
	begun := q.PageToken == ""
	for _, o := range s.orders {
		if q.CustomerID == "" || o.CustomerID != q.CustomerID {
			continue
		}
		total++
		switch {
		case !begun:
			begun = o.ID == q.PageToken
		case len(found) < q.Limit:
			found, last = append(found, o.raw), o.ID
		default:
			next = last
		}
	}
	if !begun {
		reply(w, http.StatusNotFound, map[string]string{"error": "no such page"})
		return
	}
	reply(w, http.StatusOK, map[string]any{"orders": found, "total_count": total, "next_page_token": next})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked has gone
}
