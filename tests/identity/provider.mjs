// A certified identity provider with two clients, whose state is in memory. Usage: node provider.mjs OPTIONS.json
// Any login name and password sign in. The name of the account decides its groups: "ana" is of the group staff.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const options = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const require = createRequire(path.join(options.modules, "package.json"));
const { Provider } = await import(require.resolve("oidc-provider"));

const SCOPES = "docs:read docs:write docs:admin";
const GROUPS = { ana: ["staff"], ci: ["staff"] };

const provider = new Provider(options.issuer, {
  jwks: options.jwks,
  cookies: { keys: ["a key of the tests"] },
  scopes: ["openid", "profile", ...SCOPES.split(" ")],
  claims: { openid: ["sub"], profile: ["name", "groups"] },
  conformIdTokenClaims: false,
  responseTypes: ["code"],
  pkce: { required: () => true },
  ttl: { ClientCredentials: options.ttl, AccessToken: options.ttl },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => options.audience,
      useGrantedResource: () => true,
      getResourceServerInfo: (context, resource) => ({
        scope: SCOPES,
        audience: resource,
        accessTokenFormat: "jwt",
        accessTokenTTL: options.ttl,
        jwt: { sign: { alg: options.algorithm } },
      }),
    },
  },
  clients: [
    {
      client_id: "docyard",
      client_secret: options.secret,
      redirect_uris: [options.callback],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      id_token_signed_response_alg: options.algorithm,
      scope: "openid profile",
    },
    {
      client_id: "ci",
      client_secret: options.secret,
      redirect_uris: [],
      response_types: [],
      grant_types: ["client_credentials"],
      id_token_signed_response_alg: options.algorithm,
      scope: SCOPES,
    },
  ],
  extraTokenClaims: (context, token) => ({ groups: GROUPS[token.accountId ?? token.clientId] ?? [] }),
  findAccount: (context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: `Person ${id}`, groups: GROUPS[id] ?? [] }),
  }),
});

const server = provider.listen(Number(new URL(options.issuer).port), "127.0.0.1", () => console.log("ready"));
process.on("SIGTERM", () => server.close(() => process.exit(0)));
