/**
 * The sign-in of an open wire: it is renewed by a token that the client sends when it is asked, or it ends. Who
 * signs in must be the one who did before: what is open on the wire is theirs.
 *
 * Source: reliability decisions D46, D55.
 */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ReauthWantedSchema, ServerMessageSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import { protocolFault } from "../../runtime/wire/wire-end.ts";
import type { ConnectionEnd, OpenConnections, Seat } from "../session/open-connections.ts";
import type { GreetParts } from "./greet.ts";
import type { OpenWire } from "./open-wire.ts";

/** Ends the wire with its sign-in or its session, and takes the tokens that come in time. */
export function keepSignedIn(
  wire: OpenWire,
  connections: OpenConnections,
  parts: Pick<GreetParts, "signIn">,
): void {
  const { end, guest } = wire;
  const seat = connections.add({
    kind: "wire",
    by: guest.caller.by,
    space: guest.key.space,
    session: guest.session,
    until: guest.until,
    end: (why) => endBy(wire, why),
    askReauth: (withinMs) =>
      end.send(
        create(ServerMessageSchema, {
          kind: {
            case: "reauthWanted",
            value: create(ReauthWantedSchema, { withinMs: Math.round(withinMs) }),
          },
        }),
      ),
  });
  end.onClose(() => seat.leave());
  let asking = false;
  end.take({
    reauth: ({ token }) => {
      if (asking) throw protocolFault("a reauth came while another is looked at");
      asking = true;
      renew(wire, seat, token, parts)
        .catch((error: unknown) => wire.refuse(ConnectError.from(error, Code.Internal)))
        .finally(() => {
          asking = false;
        });
    },
  });
}

async function renew(
  wire: OpenWire,
  seat: Seat,
  token: string,
  parts: Pick<GreetParts, "signIn">,
): Promise<void> {
  const { address } = wire.guest;
  const { caller, until } = await parts.signIn({
    token: token === "" ? undefined : token,
    headers: new Headers(),
    address,
    via: "wire",
  });
  if (caller.by !== wire.guest.caller.by) {
    throw serverError("SIGN_IN_REFUSED", "another one has signed in than the one whose wire this is");
  }
  wire.renew(caller);
  seat.renew(until);
}

function endBy(wire: OpenWire, why: ConnectionEnd): void {
  if (why === "sessionGone") wire.leave(0);
  else
    wire.refuse(
      serverError("SIGN_IN_REFUSED", why === "revoked" ? "the sign-in was revoked" : "the sign-in has ended"),
    );
}
