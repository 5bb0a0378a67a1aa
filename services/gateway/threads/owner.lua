-- foreign reports whether a thread of the customer owner, with the cart bound, is not that of a shopper: of the customer, or of a
-- guest if that is '', who names cart. The owner is false if there is no thread, and '' for a guest's. A guest's thread that has a
-- cart is that of whoever names the cart, also on signing in; one without a cart is any guest's, and no customer's. With any, the
-- caller may use every guest's thread. Thread.foreignTo in shopper.go is the same rule.
local function foreign(owner, bound, customer, cart, any)
  if not owner then return false end
  if owner ~= '' then return owner ~= customer end
  if any then return false end
  if not bound or bound == '' then return customer ~= '' end -- threads of earlier releases have no field for the cart
  return bound ~= cart
end
