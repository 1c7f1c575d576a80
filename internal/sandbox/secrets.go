package sandbox

import "strings"

// SecretNames are the entries of $HOME, at any depth, that are never read:
// keys, tokens, passwords, wallets, browser and mail profiles, histories of
// shells, and the data of gamma and other agents. What a program keeps beside
// its settings is on the list as a whole where the secret has no file of its
// own.
func SecretNames() []string {
	var out []string
	for _, list := range []string{keyNames, cloudNames, codeNames, packageNames, dataNames, profileNames, historyNames, agentNames} {
		out = append(out, strings.Fields(list)...)
	}
	return out
}

const (
	// keyNames: keys, password stores, keyrings, logins of systems, wallets.
	keyNames = `
		.ssh .ssh2 .putty .config/putty .gnupg .config/gnupg .pgpass .netrc .password-store .authinfo .authinfo.gpg .vault-token .vault_pass
		.age .config/age .config/sops .pki .local/share/pki .step .config/step .cert .certs .certificates .private .secrets .secret .credentials .env .envrc .env.local
		.Xauthority .ICEauthority .vnc .config/tigervnc .config/freerdp .config/remmina .local/share/remmina .smbcredentials .config/google-authenticator .google_authenticator .config/Yubico .yubico
		.local/share/keyrings .local/share/kwalletd .kde/share/apps/kwallet .kde4/share/apps/kwallet .gnome2/keyrings .gnome2_private .config/goa-1.0
		.config/keepassxc .local/share/KeePass .config/KeePass .keepass .config/op .op .config/1Password .1password .config/Bitwarden .config/bitwarden-cli .config/rbw .local/share/rbw .cache/rbw
		.config/gopass .local/share/gopass .local/share/password-store .config/lastpass .local/share/lpass .lpass .config/keybase .local/share/keybase .config/Enpass .config/dashlane-cli .dashlane .config/proton-pass .config/protonvpn .config/ente
		.bitcoin .litecoin .dogecoin .dashcore .zcash .monero .bitmonero .ethereum .electrum .electrum-ltc .config/solana .sui .aptos .near-credentials .foundry/keystores .brownie/accounts .config/Exodus .config/atomic .config/Ledger .cardano .polkadot`
	// cloudNames: command lines of clouds, clusters, and services.
	cloudNames = `
		.aws .azure .config/azure .kube .docker .boto .s3cfg .oci .terraform.d .terraformrc .config/gcloud .gsutil .config/doctl .config/rclone .rclone.conf
		.config/containers .config/hcloud .config/flyctl .fly .config/heroku .heroku .config/netlify .netlify .config/stripe .aliyun .tccli .config/tccli .bluemix .config/ibmcloud
		.config/linode-cli .linode-cli .config/scw .scwrc .config/vultr-cli .vultr-cli.yaml .config/exoscale .config/openstack .openstack .config/civo .civo.json .config/upctl.yaml .config/ovh.conf .ovh.conf
		.railway .config/railway .render .config/render .config/vercel .local/share/com.vercel.cli .vercel .now .wrangler .config/.wrangler .cloudflared .config/cloudflared .config/configstore .config/firebase
		.supabase .config/supabase .config/planetscale .config/turso .config/neonctl .config/ngrok .ngrok2 .config/tailscale .pulumi/credentials.json .config/pulumi .akeyless .config/akeyless .infisical .config/infisical .doppler
		.sentryclirc .circleci .config/circleci .travis .buildkite .bk.yaml .config/bk .config/snyk .databrickscfg .databricks .snowsql .snowflake .config/snowflake .dbt/profiles.yml .kaggle .config/kaggle .config/datadog .newrelic
		.config/helm .helm .config/argocd .argocd .config/k9s .rancher .config/rancher .tsh .config/teleport .minikube/profiles .minikube/certs .chef .config/chef .vagrant.d/insecure_private_key .vagrant.d/data/vagrant_login_token .config/lxc .config/incus .nomad .consul-token .config/boundary .waypoint
		.config/restic .restic .config/borg .config/duplicity .config/duplicati .config/syncthing .local/state/syncthing .config/Nextcloud .dropbox .config/maestral .config/Seafile .megaCmd .config/gdrive .gdrive .config/google-drive-ocamlfuse .gdfuse .config/onedrive .b2_account_info .config/b2
		.config/twilio-cli .twilio-cli .config/algolia .config/shopify .config/auth0 .config/okta .okta .config/contentful .contentfulrc.json .config/expo .expo/state.json .config/eas-cli .appcenter .config/fastlane .fastlane`
	// codeNames: forges and the tools about code.
	codeNames = `
		.git-credentials .config/git/credentials .git-credential-cache .cache/git/credential .gitcookies .gcm .config/gh .config/glab-cli .config/glab .config/hub .config/lab .config/tea .config/hut .config/gitlab .config/bitbucket .config/berg .config/forgejo-cli .python-gitlab.cfg
		.config/github-copilot .arcrc .gist .config/gist .hgrc .config/hg .subversion/auth .cvspass .p4tickets .p4enviro .jira.d .config/.jira .config/jira .config/acli .config/linear .config/Code .config/VSCodium .vscode-server/data .config/JetBrains .config/Postman .config/Insomnia .config/Bruno`
	// packageNames: managers of packages and builds, downloaders.
	packageNames = `
		.npmrc .config/npm .yarnrc .yarnrc.yml .bunfig.toml .pnpmrc .config/pnpm/rc .pypirc .pip .config/pip .config/pypoetry .config/uv/credentials.toml .local/share/uv/credentials .condarc .config/conda .config/hatch .config/pdm
		.cargo/credentials .cargo/credentials.toml .gem/credentials .local/share/gem/credentials .bundle/config .config/rubygems .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .sbt/.credentials .ivy2/.credentials .lein/credentials.clj.gpg .lein/profiles.clj
		.composer/auth.json .config/composer/auth.json .nuget/NuGet .config/NuGet .microsoft/usersecrets .pub-cache/credentials.json .config/dart .hex/hex.config .config/hex .stack/upload .opam/plugins/opam-publish .Renviron .config/cachix .luarocks/upload_config.lua .pause .config/conan .conan/.conan.db .conan2/creds.db
		.wgetrc .config/wget .wget-hsts .curlrc .config/curlrc .config/aria2 .aria2 .config/httpie .httpie .config/yt-dlp .config/youtube-dl .config/gallery-dl .config/streamlink .lftp .config/lftp .local/share/lftp .ftpconfig .config/filezilla .filezilla .cadaverrc .davfs2 .cookies .cookies.txt .config/cookies.txt`
	// dataNames: databases and models.
	dataNames = `
		.my.cnf .mylogin.cnf .pg_service.conf .mongorc.js .mongodb .config/mongosh .dbshell .config/usql .usqlpass .clickhouse-client .config/litecli .config/pgcli .config/mycli .config/DBeaver .local/share/DBeaverData .influxdbv2 .cqlshrc .cassandra .arangosh.conf .config/redis .sqlcmd .odbc.ini
		.huggingface .cache/huggingface/token .cache/huggingface/stored_tokens .config/wandb .config/openai .openai .config/io.datasette.llm .config/llm .replicate .config/replicate .modal.toml .config/modal .vast_api_key .config/vastai .runpod .config/fal .cohere .config/mistral .config/lightning .lightning .config/comet .comet.config .neptune .jupyter/jupyter_server_config.json .jupyter/jupyter_notebook_config.json .local/share/jupyter/runtime .ipython/profile_default/history.sqlite .streamlit/secrets.toml .streamlit/credentials.toml`
	// profileNames: browsers, mail, chat, desktops.
	profileNames = `
		.mozilla .thunderbird .librewolf .waterfox .zen .floorp .icedove .icecat .palemoon .tor-browser .local/share/torbrowser .local/share/tor-browser .config/google-chrome .config/google-chrome-beta .config/google-chrome-unstable .config/google-chrome-for-testing .config/chromium .config/BraveSoftware
		.config/microsoft-edge .config/microsoft-edge-beta .config/microsoft-edge-dev .config/vivaldi .config/vivaldi-snapshot .config/opera .config/opera-beta .config/opera-developer .config/librewolf .config/mozilla .config/zen .config/thorium .config/yandex-browser .config/yandex-browser-beta .config/falkon .config/qutebrowser .local/share/qutebrowser .config/epiphany .local/share/epiphany .config/ungoogled-chromium .config/Arc .config/iridium .config/midori .config/surf .surf .w3m .elinks .config/elinks .links .config/nyxt .local/share/nyxt
		.cache/mozilla .cache/thunderbird .cache/librewolf .cache/google-chrome .cache/google-chrome-beta .cache/chromium .cache/BraveSoftware .cache/microsoft-edge .cache/vivaldi .cache/opera .cache/qutebrowser .cache/epiphany .cache/falkon .cache/keyring-storage
		.config/Slack .config/discord .config/discordcanary .config/vesktop .config/Signal .config/Element .config/TelegramDesktop .local/share/TelegramDesktop .config/zoom .zoom .config/teams .config/teams-for-linux .config/Mattermost .config/Rocket.Chat .config/skypeforlinux .config/WhatsApp .config/weechat .weechat .irssi .config/hexchat .purple .config/fractal .local/share/fractal .config/gajim .local/share/gajim .config/dino .local/share/dino .config/spotify .config/obsidian .config/Notion
		.fetchmailrc .getmail .getmailrc .config/getmail .msmtprc .config/msmtp .mailrc .muttrc .mutt .config/mutt .config/neomutt .mbsyncrc .isyncrc .config/isyncrc .offlineimaprc .config/offlineimap .config/aerc .config/himalaya .alpine-passfile .pine-passfile .pinerc .config/evolution .local/share/evolution .local/share/geary .config/geary .claws-mail .sylpheed-2.0 .config/Mailspring .config/vdirsyncer .config/khard .config/protonmail .config/Proton
		.var/app snap .config/obs-studio .config/kdeconnect .config/gsconnect .local/share/recently-used.xbel`
	// historyNames: what was typed into shells, interpreters and editors.
	historyNames = `
		.bash_history .bash_sessions .zsh_history .zsh_sessions .zhistory .histfile .history .sh_history .ash_history .ksh_history .mksh_history .tcsh_history .local/share/fish .config/fish/fish_history .local/share/zsh .local/state/zsh .local/state/bash .local/share/bash .config/nushell/history.txt .config/nushell/history.sqlite3 .local/share/atuin .config/atuin .local/share/mcfly .local/share/powershell .local/share/xonsh .local/share/elvish .local/state/elvish .local/share/hishtory .hishtory
		.python_history .local/state/python_history .node_repl_history .ts_node_repl_history .deno_history .psql_history .mysql_history .mariadb_history .sqlite_history .duckdb_history .rediscli_history .usql_history .mongo_history .lesshst .local/state/lesshst .irb_history .pry_history .php_history .lua_history .scala_history .amm/history .ghc/ghci_history .julia/logs .Rhistory .octave_hist .maxima_history .gdb_history .erlang-history .iex_history .bc_history .calc_history .units_history .viminfo .vim/viminfo .cache/vim .local/state/nvim/shada .local/share/nvim/shada .emacs.d/auth .emacs.d/history .nano_history .local/share/nano`
	// agentNames: gamma and other agents, and their tools.
	agentNames = `
		.gamma .claude .claude.json .config/claude .config/Claude .codex .gemini .local/share/opencode .config/opencode .cursor .config/Cursor .windsurf .codeium .config/codeium .continue .aider.conf.yml .aider .config/aider .config/goose .local/share/goose .qwen .grok .config/amp .amp .local/share/amp .local/share/crush .config/crush .factory .kiro .kimi .config/fabric .cody .config/Cody .tabnine .config/TabNine .copilot .config/copilot .mcp-auth .mcp.json .config/mcp .openhands .openclaw .clawdbot .pi`
)
