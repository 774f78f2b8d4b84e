// An OpenID Connect provider for tests, with oidc-provider's own development login: whoever types a name is that person.
// Arguments: its port, the redirect address of the client, and where oidc-provider is.
const [port, callback, modules] = process.argv.slice(2);
const { Provider } = await import(`${modules}/oidc-provider/lib/index.js`);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "hemicycle", client_secret: "between us", redirect_uris: [callback], grant_types: ["authorization_code"] }],
  pkce: { required: () => true },
  cookies: { keys: ["a key"] },
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: `id of ${id}`, preferred_username: id, groups: id === "ada" ? ["admins"] : ["others"] }),
  }),
  features: { devInteractions: { enabled: true } },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
