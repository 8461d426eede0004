module.exports = {
  baton: {
    input: { target: process.env.OPENAPI },
    output: { target: process.env.OUTPUT, client: "fetch", baseUrl: process.env.BATON },
  },
};
